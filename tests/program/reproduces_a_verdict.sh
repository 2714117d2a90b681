#!/usr/bin/env bash
# evaluate --reproduce writes a folder that says the verdict and builds: where a toolkit is at hand,
# the very cubin that was recorded comes out of it.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

store=$PWD/s.db
expect_status 0 "$program" hgemm tune --device recorded --shapes 512x512x512 --store "$store" \
  --run run --budget evals=40 --finalists 1
expect_status 0 "$program" export run/512x512x512 --store "$store" -o best
expect_status 0 "$program" evaluate hgemm:512x512x512:TN best --device recorded --store "$store" \
  --reproduce folder
[[ $output =~ ([0-9.]+)\ us\ \(device\) ]] || expected "a time in: $output"
grep -q "${BASH_REMATCH[1]} us (device)" folder/README.txt || expected "that time in README.txt"
grep -q 'measured on  NVIDIA' folder/README.txt || expected "the device in README.txt"
[[ -x folder/reproduce.sh ]] || expected "reproduce.sh to be executable"
sh -n folder/reproduce.sh
! grep -rn "$checkout" folder || expected "no path of this machine"

# What was never measured has no time.
expect_status 73 "$program" evaluate hgemm:512x512x512:TN "$checkout/tasks/hgemm-512/tiled" \
  --device recorded --store "$store" --reproduce none
[[ ! -e none ]] || expected "no folder for what was not measured"

# With a toolkit it builds, and with a GPU of its kind it runs.
command -v nvcc >/dev/null || exit 0
if sh folder/reproduce.sh --samples 5 >built.txt 2>&1; then
  grep -q 'ratio cublaslt-auto-tn / candidate' built.txt || expected "a ratio in: $(cat built.txt)"
fi
[[ -x folder/build/reproduce ]] || expected "it to build: $(cat built.txt)"
if [[ $(nvcc --version) == *"release 13.0,"* ]]; then
  grep -q 'bit for bit, the one that was judged' built.txt ||
    expected "the recorded cubin: $(cat built.txt)"
fi
