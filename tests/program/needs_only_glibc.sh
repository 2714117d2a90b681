#!/usr/bin/env bash
# The released binary needs nothing but glibc, so that it runs on other distributions.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

needed=$(LC_ALL=C readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
extra=$(grep -Ev '^(libc|libm|ld-linux-x86-64)\.so' <<<"$needed" || true)
[[ -z $extra ]] || expected "only glibc's libraries, found: $extra"
newest=$(LC_ALL=C readelf -V "$program" | grep -o 'GLIBC_2\.[0-9]*' | sort -t. -k2n | tail -n 1)
((${newest#GLIBC_2.} <= 39)) || expected "glibc 2.39 (Ubuntu 24.04) or older to do, found $newest"
