#!/usr/bin/env bash
# --device http://...: searches, evaluate and MCP get from a server the very verdicts that a replay
# here gives, also when the server is killed in between.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

python=$(command -v python3) || { printf 'skipped: no python3\n' && exit 0; }
ldconfig -p | grep -q 'libcurl.*\.so\.4' || { printf 'skipped: no libcurl\n' && exit 0; }
exec "$python" "$checkout/tests/program/server_as_device.py" "$program"
