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
