#!/usr/bin/env bash
# warpsmith.evaluate and Session judge on a recording, with the program's own refusals.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

python=$(command -v python3) || { echo "skipped: no python3" && exit 77; }
export WARPSMITH_PROGRAM=$program PYTHONPATH=$checkout/python PYTHONDONTWRITEBYTECODE=1
"$python" "$checkout/python/tests/test_judge.py" "$checkout/data/recordings"
