#!/usr/bin/env bash
# kb: a new base begins with the seed; what is exported is imported the same; merging counts shared
# evidence once; bad files end with one clear line.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

# One line on stderr, with these words in it.
refused() {
  local status=$1 words=$2
  shift 2
  expect_status "$status" "$@"
  [[ $(wc -l <<<"$output") == 1 && $output == *"$words"* ]] ||
    expected "one line with '$words', found: $output"
}

expect_status 0 "$program" kb show
[[ $output == *"states (0 discovered)"* && $output == *"0 outcomes measured"* ]] ||
  expected "the seed in a new base, found: $output"
[[ -s data/warpsmith/knowledge.db ]] || expected "a base in the data folder"
expect_status 0 "$program" kb verify

# Two bases that share one outcome of an H200 and have one each of their own.
outcome() { # evidence, architecture, log gain
  printf '{"architecture":"%s","date":"2026-01-01T00:00:00Z","dtype":"f16","evidence":"%s",' "$2" "$1"
  printf '"kind":"outcome","log_gain":%s,"previous":"","state":"barrier","task":"t",' "$3"
  printf '"technique":"loop-unrolling","toolchain":"nvrtc 13.0"}\n'
}
echo '{"warpsmith_knowledge":1}' >head.jsonl
grep -E '"name":"(barrier|loop-unrolling)"' "$checkout/data/knowledge/seed.jsonl" >>head.jsonl
{ cat head.jsonl && outcome run:a#1 sm_90a 0.25 && outcome run:a#2 sm_90a 0.25; } >a.jsonl
{ cat head.jsonl && outcome run:a#1 sm_90a 0.25 && outcome run:b#1 sm_80 0.25; } >b.jsonl
expect_status 0 "$program" kb import a.jsonl --knowledge a.db
[[ $output == *"2 outcomes and 0 notes were new"* ]] || expected "2 new outcomes, found: $output"
expect_status 0 "$program" kb import b.jsonl --knowledge b.db
expect_status 1 "$program" kb diff a.db b.db
[[ $output == *"- 1 outcomes"*"+ 1 outcomes"* ]] || expected "one of each to differ, found: $output"
expect_status 0 "$program" kb merge b.db --knowledge a.db
[[ $output == *"1 outcomes"* ]] || expected "the shared outcome to count once, found: $output"
expect_status 0 "$program" kb merge b.db b.jsonl --knowledge a.db
[[ $output == *"0 outcomes"* ]] || expected "nothing new the second time, found: $output"
expect_status 0 "$program" kb verify --knowledge a.db --json
[[ $output == *'"outcomes": 3'* ]] || expected "3 outcomes, found: $output"

# Evidence of another GPU is discounted, and it says by how much.
expect_status 0 "$program" kb show --knowledge a.db --state barrier --arch sm_90a
[[ $output == *"1 attempts that differ in architecture count 0.24 each"* ]] ||
  expected "the discount, found: $output"
expect_status 0 "$program" kb show --knowledge a.db --state barrier --arch sm_80 --json
[[ $output == *'"counts_each": 0.23'* ]] || expected "the discount in the document: $output"

# What a prompt holds, and no more than it may.
expect_status 0 "$program" kb show --state barrier --budget-bytes 2000
[[ ${#output} -le 2000 && $output == *"# State now: barrier"* ]] ||
  expected "at most 2000 bytes about the state, found ${#output}: $output"
expect_status 2 "$program" kb show --budget-tokens 100

expect_status 0 "$program" kb show --html page.html
! grep -Eq '(src|href)="(https?:)?//' page.html || expected "a page that loads nothing"
grep -q 'new Chart(' page.html || expected "plots in the page"

# Out as text, packed or not, and in again: the same.
expect_status 0 "$program" kb export text.jsonl --knowledge a.db
expect_status 0 "$program" kb export packed.zst --knowledge a.db
expect_status 0 "$program" kb import packed.zst --knowledge c.db
expect_status 0 "$program" kb diff text.jsonl c.db
expect_status 0 "$program" kb diff --knowledge a.db c.db
diff text.jsonl <("$program" kb export - --knowledge c.db) || expected "the same text"

# Bad files. A text that was cut at the end of a line tells of more.
sed '$d' text.jsonl >cut.jsonl
refused 65 "lines of the" "$program" kb import cut.jsonl --knowledge d.db
refused 2 "is the base itself" "$program" kb merge a.db --knowledge "$PWD/a.db"
refused 76 "version 99" "$program" kb import <(echo '{"warpsmith_knowledge":99}') --knowledge d.db
echo 'no base at all' >prose.txt
refused 65 "prose.txt" "$program" kb merge prose.txt --knowledge a.db
refused 65 "" "$program" kb show --knowledge prose.txt
refused 66 "" "$program" kb show --knowledge not-there.db
refused 66 "not-there.jsonl" "$program" kb merge not-there.jsonl --knowledge a.db
refused 65 "no state 'nonsense'" "$program" kb show --state nonsense
sed 's/0.25/0.5/' b.jsonl >contradiction.jsonl
refused 65 "run:" "$program" kb merge contradiction.jsonl --knowledge a.db
head -c 5000 a.db >cut.db
refused 65 "cut.db" "$program" kb verify --knowledge cut.db
expect_status 0 "$program" kb verify --knowledge a.db
