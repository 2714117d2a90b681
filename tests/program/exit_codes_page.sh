#!/usr/bin/env bash
# The last section of docs/commands.md is what the program prints.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

page=$checkout/docs/commands.md
diff <(sed -n '/^## Exit codes$/,$p' "$page" | sed '1s/^##/#/') <("$program" exit-codes) ||
  expected "the section Exit codes of $page as 'warpsmith exit-codes' prints it (but for its ##)"
