#!/usr/bin/env bash
# README's main job on a machine without a GPU: all twelve shapes, a table, and a report that stands
# alone.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

expect_status 0 "$program" demo --device recorded
for size in 64 128 256 512 1024 2048 4096 8192; do
  [[ $output == *"$size"* ]] || expected "a row for size $size in: $output"
done
[[ -s report.html ]] || expected "report.html in the current folder"
! grep -Eq '(src|href)="(https?:)?//' report.html || expected "a report that loads nothing"
grep -q 'new Chart(' report.html || expected "plots in report.html"
