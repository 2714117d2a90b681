#!/usr/bin/env bash
# Bad command lines end with status 2 and one clear line; with --json, with one document.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

expect_status 2 "$program" no-such-command
expect_status 2 "$program" demo --no-such-option
[[ $(wc -l <<<"$output") == 1 ]] || expected "one line, found: $output"
for shape in 0x64x64 -1x64x64 2147483648x64x64 axbxc 64x64; do
  status=0
  "$program" hgemm show "$shape" >output.txt 2>&1 || status=$?
  ((status != 0 && status < 126)) || expected "'hgemm show $shape' to be refused, exit was $status"
done

# Not even a command line that cannot be parsed changes what --json promises.
for arguments in "no-such-command" "demo --no-such-option" "hgemm tune --fail-on slow"; do
  # shellcheck disable=SC2086
  expect_status 2 "$program" $arguments --json
  [[ $output == '{"error":{"code":"usage"'* ]] || expected "a JSON document, found: $output"
done
expect_status 2 "$program" report $'caf\xe9' --json
expect_status 2 "$program" hgemm tune --seed -1
expect_status 2 "$program" hgemm tune --max-seconds nan
expect_status 66 "$program" hgemm tune --shapes 64x64x64 --store "$PWD/s.db" --resume never-begun
expect_status 78 "$program" hgemm tune --device recorded --gpu 0

# What needs a GPU says so, and not that it replays.
cp "$program" lib.so
if ! "$program" doctor | grep -q 'ok *GPU'; then
  expect_status 69 "$program" hgemm bench --against lib.so --shapes 64x64x64
  [[ $output == 'warpsmith: comparing libraries needs a GPU of this machine, and none is here ('* ]] ||
    expected "one clear line, found: $output"
fi

# What an option would do only with another is not passed over.
expect_status 2 "$program" evaluate "$checkout/tasks/saxpy-f32" x.cu --csv out.csv
expect_status 2 "$program" evaluate "$checkout/tasks/saxpy-f32" --many "$checkout/tasks"
expect_status 2 "$program" evaluate --many "$checkout/tasks" --workload large
expect_status 2 "$program" optimize "$checkout/tasks/saxpy-f32" --minimal-agent --contrastive

# A name is not always text, and no name moves the cursor.
cp -r "$checkout/tasks/saxpy-f32" $'esc\x1b[1Ape'
printf 'nonsense' >$'esc\x1b[1Ape/task.toml'
expect_status 65 "$program" task check $'esc\x1b[1Ape'
[[ $output != *$'\x1b'* ]] || expected "no escape sequence, found: $output"

# A file's own words are quoted, cut short in the middle of a character.
cp -r "$checkout/tasks/saxpy-f32" task
printf '"a%s" = 1\n' "$(printf 'é%.0s' {1..40})" | cat - task/task.toml >longer.toml
mv longer.toml task/task.toml
expect_status 65 "$program" task check task --json
[[ $output == '{"error":{"code":"bad-input"'* ]] || expected "a JSON document, found: $output"

# Nor does a run's, whose store may be somebody else's.
run=$'esc\e[2Jape'
expect_status 0 "$program" hgemm tune --shapes 64x64x64 --device recorded --budget evals=2 \
  --finalists 0 --quiet --store names.db --run "$run"
expect_status 0 "$program" report --store names.db
[[ $output == *'esc?[2Jape'* && $output != *$'\e'* ]] || expected "the run as text, found: $output"
