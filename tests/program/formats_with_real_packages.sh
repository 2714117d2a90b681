#!/usr/bin/env bash
# Files of warpsmith.formats, read by the packages they are for: kernel_tuner, flashinfer-bench and
# kernels, from the package index, on the CPU. Skipped where they cannot be installed.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

# torch is not among them: flashinfer-bench's models do without it.
packages=(kernel_tuner==1.5.0 flashinfer-bench==0.1.2)
loaded=(kernels==0.17.2 apache-tvm-ffi)
needs=(numpy scipy python-constraint2 xmltodict packaging jsonschema pydantic docstring-parser pyyaml)
python=${WARPSMITH_FORMATS_PYTHON:-} # a Python that has them already
if [[ -z $python ]]; then
  python=$folder/venv/bin/python
  install=("$python" -m pip install --quiet --no-compile --retries 1 --disable-pip-version-check)
  { python3 -m venv venv && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' &&
    timeout 120 "${install[@]}" "${needs[@]}" "${loaded[@]}" &&
    timeout 60 "${install[@]}" --no-deps "${packages[@]}"; } >pip.log 2>&1 || {
    echo "skipped: ${packages[*]} cannot be installed: $(tail -n 1 pip.log)"
    exit 77
  }
fi
export PYTHONPATH=$checkout/python PYTHONDONTWRITEBYTECODE=1
"$python" "$checkout/python/tests/formats_contract.py" "$checkout"
"$python" "$checkout/python/tests/test_formats.py" "$checkout" GpuMode Hostile.test_problems # YAML is here
library=$(dirname "$program")/../lib/libwarpsmith_gemm.so.1
[[ ! -f $library ]] || "$python" "$checkout/python/tests/kernels_contract.py" "$library"
