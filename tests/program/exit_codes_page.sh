#!/usr/bin/env bash
# docs/exit-codes.md is what the program prints.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

diff "$checkout/docs/exit-codes.md" <("$program" exit-codes) ||
  expected "docs/exit-codes.md as 'warpsmith exit-codes' prints it; write it again with that"
