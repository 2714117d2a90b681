#!/usr/bin/env bash
# A database that is made on a full file system is whole, or not there. Needs root or user
# namespaces, to mount a small file system.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"
apart=(unshare --user --map-root-user --mount)
"${apart[@]}" mount -t tmpfs x /mnt 2>/dev/null || { printf 'skipped: no small file system\n' && exit 0; }

mkdir small
for ((kib = 16; kib <= 400; kib += 12)); do
  rm -f b.db*
  status=0
  # The file system is gone with its namespace, so what was left is copied out of it.
  # shellcheck disable=SC2016
  "${apart[@]}" sh -c 'mount -t tmpfs -o size="$0" tmpfs small; "$@" >output.txt 2>error.txt; status=$?
    cp small/* . 2>/dev/null; exit "$status"' "${kib}k" \
    "$program" kb import "$checkout/data/knowledge/seed.jsonl" --knowledge small/b.db || status=$?
  [[ $status == 0 || $status == 74 ]] || expected "status 74 with $kib KiB: $status, $(cat error.txt)"
  [[ ! -e b.db ]] || expect_status 0 "$program" kb verify --knowledge b.db
done
