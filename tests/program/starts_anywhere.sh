#!/usr/bin/env bash
# The program starts where there is no CUDA, no driver and no home, and says what is missing.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

expect_status 0 env -i "$program" --version
[[ $output == "warpsmith "* ]] || expected "'warpsmith <version>', found '$output'"
expect_status 0 env -i "$program" --help
[[ $output == *doctor* ]] || expected "the help to name doctor"
expect_status 0 env -i HOME="$HOME" WARPSMITH_CUDA_HOME=/nonexistent "$program" doctor
