#!/usr/bin/env bash
# Is the GEMM library right on this GPU, through C, Python and CMake's build, and what does a call
# cost? Ends with 0 where everything that could be tried is right.
#
#   tests/device/gemm_library.sh BUILD RESULTS [CATALOGUE]
#
# BUILD      a build folder: bin/warpsmith, bin/gemm_check and lib/ are used
# RESULTS    a folder for gemm_check.csv, the pack and logs
# CATALOGUE  what to build and check; default: data/hgemm/catalogue.csv of the checkout
#
# Needs a GPU; cc with CUDA's headers for the C example, a Python with torch for CUDA
# (WARPSMITH_PYTHON) for the PyTorch one: without them it says what was left out.
set -euo pipefail

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
results=$(cd "$2" && pwd)
catalogue=${3:-$checkout/data/hgemm/catalogue.csv}
python=${WARPSMITH_PYTHON:-python3}
cuda=${CUDA_HOME:-/usr/local/cuda}
failed=()

say() { printf '\n== %s\n' "$*"; }
step() { # step NAME COMMAND...: runs it, keeps its output, goes on whatever comes of it
  local name=$1
  shift
  say "$name"
  if "$@" 2>&1 | tee "$results/${name// /_}.log"; then return 0; fi
  failed+=("$name")
}

library=$(find "$build/lib" -name 'libwarpsmith_gemm.so*' | head -1)
folder=$(dirname "$library")
export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# The build may have been carried here without its links.
[[ -e $folder/libwarpsmith_gemm.so ]] || ln -s "$(basename "$library")" "$folder/libwarpsmith_gemm.so"
[[ -e $folder/libwarpsmith_gemm.so.1 ]] || ln -s "$(basename "$library")" "$folder/libwarpsmith_gemm.so.1"
library=$folder/libwarpsmith_gemm.so

if [[ -f $catalogue && ! -f $results/gemm.wspack ]]; then
  step build "$build/bin/warpsmith" hgemm build --catalogue "$catalogue" --out "$results"
fi
if [[ -f $results/gemm.wspack ]]; then
  export WARPSMITH_GEMM_PACK=$results/gemm.wspack
fi
known=()
[[ -f $catalogue ]] && known=(--catalogue "$catalogue")
step gemm_check "$build/bin/gemm_check" --csv "$results/gemm_check.csv" "${known[@]}"
say 'host time of a call, ns'
grep '^host_ns' "$results/gemm_check.csv" || true

if command -v cc >/dev/null && [[ -f $cuda/include/cuda.h ]]; then
  driver=$(ldconfig -p 2>/dev/null | awk '/libcuda\.so\.1 /{print $NF; exit}')
  step compile cc -std=c99 -Wall "-I$checkout/include" "-I$cuda/include" "$checkout/examples/gemm.c" \
    "-L$folder" -lwarpsmith_gemm "${driver:-$cuda/lib64/stubs/libcuda.so}" \
    -o "$results/example"
  step example "$results/example"
else
  say 'left out: the C example (no cc, or no cuda.h under CUDA_HOME)'
fi

if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  export WARPSMITH_GEMM_LIBRARY=$library PYTHONPATH=$checkout/python PYTHONDONTWRITEBYTECODE=1
  step pytorch "$python" "$checkout/examples/matmul.py"
  step pytorch_checks "$python" "$checkout/python/tests/cuda_check.py" "$results/pytorch.csv"
else
  say 'left out: PyTorch (WARPSMITH_PYTHON names no Python whose torch sees a GPU)'
fi

say "results in $results"
if ((${#failed[@]} > 0)); then
  printf 'FAILED: %s\n' "${failed[*]}"
  exit 1
fi
