#!/usr/bin/env bash
# The agent at work on a machine without GPU, network and key: lines of what is new, a table, and a report
# that stands alone. $4 is the program that writes a scripted run's recording.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

"$4" scripted.wsrec
expect_status 0 "$program" demo --agent --device scripted.wsrec
for evaluation in 1 24; do
  line=$(grep "  $evaluation/24  best " <<<"$output") || expected "step $evaluation in: $output"
  [[ $line == *"k tokens"* ]] || expected "tokens in: $line"
done
[[ $line == *"tokens  "*" > "* ]] || expected "states and techniques of the best kernel in: $line"
[[ $(cut -d' ' -f4- <<<"$output" | grep 'k tokens' | sort | uniq -d | wc -l) -lt 3 ]] ||
  expected "no line twice in: $output"
[[ $output == *"the winners, built here"* ]] || expected "the winner to be built in: $output"
[[ -s report.html ]] || expected "report.html in the current folder"
! grep -Eq '(src|href)="(https?:)?//' report.html || expected "a report that loads nothing"
[[ $output == *" 24/24 "*" declined"* ]] || expected "declined prompts to be called so in: $output"
grep -q '"kind": *"declined"' report.html || expected "declined prompts to be called so in the report"
grep -Eq '"source": *".+__global__' report.html || expected "the best kernel's source in the report"
grep -q 'scripted.wsrec' report.html || expected "report.html to say what was replayed"

# A folder of them, even where runs bear the same name.
mkdir both
cp scripted.wsrec both/again.wsrec
mv scripted.wsrec both
expect_status 0 "$program" demo --agent --device both --html both.html
[[ $(grep -c "  24/24  best " <<<"$output") == 2 ]] || expected "both runs in: $output"

# Those that come with the program; one clear line where there are none.
rm report.html
if compgen -G "$checkout/data/recordings/agent/*.wsrec" >/dev/null; then
  expect_status 0 "$program" demo --agent
  [[ -s report.html ]] || expected "report.html of the shipped runs"
else
  expect_status 66 "$program" demo --agent
  [[ $(wc -l <<<"$output") == 1 && $output == *"no recorded run of the agent"* ]] ||
    expected "one line that says that no run is there, not: $output"
  [[ ! -e report.html ]] || expected "no report of nothing"
fi

mkdir empty
expect_status 66 "$program" demo --agent --device empty
expect_status 73 "$program" demo --agent --device "$checkout/data/recordings/h200-hgemm.wsrec"
expect_status 78 "$program" demo --agent --device local
expect_status 2 "$program" demo --agent --budget evals=3
