#!/usr/bin/env bash
# mcp: a coding agent reads a task, has candidates judged on recorded measurements, writes what came
# of them into the knowledge base, and is held to its budget. Stdout carries the protocol alone.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

store=$PWD/s.db
expect_status 0 "$program" hgemm tune --device recorded --shapes 512x512x512 --store "$store" \
  --run tuned --budget evals=40 --finalists 1
expect_status 0 "$program" export tuned/512x512x512 --store "$store" -o best
python=$(command -v python3) || { printf 'skipped: no python3\n' && exit 0; }
exec "$python" "$checkout/tests/program/mcp_client.py" "$program" "$store"
