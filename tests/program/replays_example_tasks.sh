#!/usr/bin/env bash
# evaluate and optimize of two example tasks, on the recordings of them that are shipped.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

for pair in row-sum-f32/block spmv-csr-f32/lanes; do
  task=$checkout/tasks/${pair%/*}
  recording=$checkout/data/recordings/h200-${pair%/*}.wsrec
  [[ -f $recording ]] || { echo "skipped: there is no $recording; 'warpsmith record --task' makes it" && exit 77; }
  expect_status 0 "$program" evaluate "$task" "$task/naive" "$checkout/tasks/$pair" --device recorded
  [[ $output == *"naive: passed"* && $output == *"x naive ["* ]] ||
    expected "verdicts with a ratio to the rival, found: $output"
  # Compiles, which not every machine can.
  if "$program" profile "$task" "$task/naive" --device recorded >profile.txt 2>profile.err; then
    [[ $(<profile.txt) == "workload '"*"': "*" = "*"only a run on a GPU shows them"* ]] ||
      expected "the sizes, and what only a run shows, found: $(<profile.txt)"
  fi
  expect_status 0 "$program" optimize "$task" --candidate "$checkout/tasks/$pair" --device recorded \
    --run "${pair%/*}" --quiet
  expect_status 0 "$program" export "${pair%/*}" -o "best-${pair%/*}"
  expect_status 0 "$program" evaluate "$task" "best-${pair%/*}" --device recorded
  # What was never measured is refused before anything is compiled.
  cp -r "$checkout/tasks/$pair" "own-${pair%/*}"
  for source in "own-${pair%/*}"/*.cu; do printf '\n// mine\n' >>"$source"; done
  expect_status 73 "$program" evaluate "$task" "own-${pair%/*}" --device recorded
done
