#!/usr/bin/env bash
# Training without torch: what a run may see of its shapes, the client, and OpenRLHF's own executors and
# command line with the recipe.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

python=$(command -v python3) || { echo "skipped: no python3" && exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "skipped: old python" && exit 77; }
export PYTHONPATH=$checkout/python PYTHONDONTWRITEBYTECODE=1
"$python" "$checkout/python/tests/test_train.py" "$checkout"

export WARPSMITH=$program STACKS_VENVS=${STACKS_VENVS:-$folder/venvs}
exec "$checkout/tests/stacks/run" --light
