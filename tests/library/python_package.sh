#!/usr/bin/env bash
# The wheel carries the library and works where nothing of the checkout is. Skipped without torch.
# shellcheck source=tests/library/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

"$python" -c 'import torch, pip' 2>/dev/null || {
  echo "skipped: $python lacks torch or pip; WARPSMITH_PYTHON names another Python"
  exit 77
}
python3 "$checkout/tools/wheel" --no-build --build "$build" --out . >wheel.log 2>&1 ||
  expected "tools/wheel to work: $(cat wheel.log)"
wheel=$(echo warpsmith-*-py3-none-*linux_*.whl)
[[ -s $wheel ]] || expected "a wheel for any Python 3 on this platform, found: $(ls)"
"$python" -m pip install --quiet --no-deps --disable-pip-version-check --target site "$wheel" \
  >pip.log 2>&1 || expected "pip install to work: $(cat pip.log)"
export PYTHONPATH=$folder/site PYTHONDONTWRITEBYTECODE=1
WARPSMITH_GEMM_LIBRARY=$(find "$folder/site" -name 'libwarpsmith_gemm.so*' | head -1)
export WARPSMITH_GEMM_LIBRARY
[[ -s $WARPSMITH_GEMM_LIBRARY ]] || expected "the library in the wheel"
"$python" "$checkout/python/tests/test_warpsmith.py"
