#!/usr/bin/env bash
# The last section of docs/commands.md is what the program prints.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

diff <(sed -n '/^## Exit codes$/,$p' "$checkout/docs/commands.md" | sed '1s/^##/#/') \
  <("$program" exit-codes) ||
  expected "the section Exit codes of docs/commands.md as 'warpsmith exit-codes' prints it"
