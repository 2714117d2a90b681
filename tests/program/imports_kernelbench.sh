#!/usr/bin/env bash
# KernelBench and KernelBench-CUDA problems as tasks. Whole imports need a Python with torch.
python=${WARPSMITH_PYTHON:-python3}
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

# Torch's headers take half a minute to compile: what was made of them is kept between runs.
export WARPSMITH_PYTHON=$python PYTHONDONTWRITEBYTECODE=1
export XDG_CACHE_HOME=${TMPDIR:-/tmp}/warpsmith-import-test-$UID
python3 "$checkout/tests/program/test_kernelbench_import.py" "$program" "$checkout"
