#!/usr/bin/env bash
# serve: rewards and jobs over HTTP on recorded measurements, hostile clients, the end in peace, and
# kills without warning that lose nothing.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

expect_status 2 "$program" serve --listen 0.0.0.0:0
printf 'short' > token
expect_status 65 "$program" serve --token-file token
python=$(command -v python3) || { printf 'skipped: no python3\n' && exit 0; }
"$program" hgemm show 512x512x512 --device recorded --top 64 > points.txt
"$python" "$checkout/tests/program/serve_client.py" "$program" "$checkout"
exec "$python" "$checkout/tests/reliability/faults.py" "$program" --class kill-serve --tries 5
