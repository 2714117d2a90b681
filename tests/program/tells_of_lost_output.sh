#!/usr/bin/env bash
# No command ends well whose output did not go anywhere: /dev/full takes nothing, as a full disk.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"
[[ -c /dev/full ]] || exit 0

# full STATUS ARGUMENTS...: what the command says with nowhere to print, in one line on stderr.
full() {
  local status=0
  "$program" "$@" >/dev/full 2>error.txt || status=$?
  [[ $status == 74 ]] || expected "'$*' to exit with 74 on a full disk, not $status"
  grep -q '^warpsmith: writing stdout failed' error.txt ||
    expected "'$*' to say what was lost, found: $(cat error.txt)"
}

expect_status 0 "$program" hgemm tune --shapes 64x64x64,8192x8192x64 --device recorded --quiet \
  --budget evals=12 --finalists 1 --store s.db --run run
expect_status 0 "$program" hgemm catalogue make --store s.db --out c.csv

full --help
full hgemm tune --help
full --version
full doctor
full doctor --json
full exit-codes
full completion bash
full completion fish
full kb show
full kb show --json
full kb export -
full kb verify
full hgemm show 64x64x64 --device recorded
full hgemm show 64x64x64 --device recorded --json
full hgemm show 64x64x64 --device recorded --catalogue c.csv
full hgemm catalogue make --store s.db --out -
full hgemm catalogue merge c.csv c.csv --out -
full hgemm catalogue check c.csv
full hgemm tune --shapes 64x64x64 --device recorded --budget evals=4 --store t.db
full report --store s.db
full report --store s.db --json
full report run/64x64x64 --store s.db --json
full store check s.db
full task check "$checkout/tasks/saxpy-f32"
full task check "$checkout/tasks/saxpy-f32" --json
full export run/64x64x64 --store s.db -o exported
# An error's document is output, too.
full task check nowhere --json
