#!/usr/bin/env bash
# report --compare: two ways of searching the same recorded spaces, side by side and paired by task.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

store=$PWD/s.db
for proposer in random guided; do
  expect_status 0 "$program" hgemm tune --device recorded --store "$store" --run "$proposer" \
    --proposer "$proposer" --budget evals=12 --finalists 1 --shapes 64x64x64,128x128x128,512x512x512
done
expect_status 0 "$program" report --compare random guided --store "$store" --html page.html \
  --csv table.csv --json-file document.json
[[ $output == *"guided against random: "*" on 3 tasks"* ]] || expected "a paired ratio in: $output"
[[ $(wc -l <table.csv) == 7 ]] || expected "a header and six rows in: $(cat table.csv)"
grep -q '"schema": "warpsmith.run-comparison"' document.json || expected "the document's schema"
! grep -Eq '(src|href)="(https?:)?//' page.html || expected "a page that loads nothing"
grep -q 'new Chart(' page.html || expected "plots in the page"

# A run of one shape is a side, too; what was never begun is none.
expect_status 0 "$program" report --compare random/64x64x64 guided/64x64x64 --store "$store" --json
[[ $output == *'"tasks": 1'* ]] || expected "one pair in: $output"
expect_status 66 "$program" report --compare random nonsense --store "$store"
expect_status 2 "$program" report --compare --store "$store"
