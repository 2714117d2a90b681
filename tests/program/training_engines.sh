#!/usr/bin/env bash
# TRL, verl and OpenRLHF run their own trainers, advantages and losses on the CPU against the server.
# They are 1.2 GB from the package index, so this is for where STACKS_TORCH is set, as in CI.
[[ -n ${STACKS_TORCH:-} ]] || { echo "skipped: STACKS_TORCH is not set" && exit 77; }
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "skipped: old python" && exit 77; }
export WARPSMITH=$program PYTHONDONTWRITEBYTECODE=1 STACKS_VENVS=${STACKS_VENVS:-$checkout/build/stacks}
timeout 600 "$checkout/tests/stacks/run" --install trl verl openrlhf ||
  { echo "skipped: the engines could not be installed in 10 minutes" && exit 77; }
exec "$checkout/tests/stacks/run" trl verl openrlhf
