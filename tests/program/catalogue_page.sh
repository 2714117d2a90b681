#!/usr/bin/env bash
# The page of a catalogue: its script counts and draws what the rows hold.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

zcat "$checkout/data/hgemm/h200.csv.gz" >h200.csv
expect_status 0 "$program" hgemm catalogue page "$checkout/data/hgemm/catalogue.csv" \
  --bench h200.csv --html page.html
[[ $output == '1000 shapes in page.html' ]] || expected "a count, found: $output"
command -v node >/dev/null || {
  echo "the page's script was not run: no node is installed (apt-get install nodejs)"
  exit 77
}
node "$checkout/tests/program/catalogue_page.mjs" page.html
