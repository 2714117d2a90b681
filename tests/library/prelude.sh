# Sourced by every script here: arguments, a fresh folder, and the fakes in the place of CUDA.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

build=$1
folder=$2
checkout=$3
python=${WARPSMITH_PYTHON:-python3}

rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
unset "${!WARPSMITH_@}"
export WARPSMITH_CUDA_HOME=$build/fake_cuda
export WARPSMITH_CUBLASLT=$build/fake_cublaslt/libcublasLt.so.13

expected() {
  printf 'expected: %s\n' "$*" >&2
  exit 1
}

install_library() {
  cmake --install "$build" --component gemm --prefix "$1" >install.log ||
    expected "cmake --install --component gemm to work: $(cat install.log)"
}
