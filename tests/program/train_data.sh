#!/usr/bin/env bash
# Stage 1's training data, with the packages of warpsmith[train] from the package index. Skipped
# where they cannot be installed. Compiling is left out: `--check` measures it.
train_python=${WARPSMITH_TRAIN_PYTHON:-} # a Python that has the packages already
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

packages=(bm25s==0.3.16 charset-normalizer==3.5.2 datasketch==2.0.0 detect-secrets==1.5.0
  license-expression==30.4.4 tree-sitter==0.26.1 tree-sitter-cuda==0.21.2 zstandard==0.25.0)
python=$train_python
if [[ -z $python ]]; then
  python=$folder/venv/bin/python
  install=("$python" -m pip install --quiet --no-compile --retries 1 --disable-pip-version-check)
  { python3 -m venv venv && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' &&
    timeout 120 "${install[@]}" "${packages[@]}"; } >pip.log 2>&1 || {
    echo "skipped: ${packages[*]} cannot be installed: $(tail -n 1 pip.log)"
    exit 77
  }
fi
export PYTHONPATH=$checkout/python PYTHONDONTWRITEBYTECODE=1 WARPSMITH_PROGRAM=$program
"$python" "$checkout/python/tests/test_train_data.py" "$checkout"

# Kernels that tables only name: a line each, and each source once.
printf '512x512x512 TN wgmma tile_m=64 tile_n=64 stages=4\n64x64x64 TN tiny\n' > kernels
expect_status 0 "$program" hgemm features --candidates --device recorded < kernels
[[ $(grep -c '^{"candidate":\[0,[12]\],"body":{' <<< "$output") == 2 ]] || expected "two: $output"
[[ $(grep -o '^{"source":"[0-9a-f]*' <<< "$output" | sort | uniq -d) == '' ]] || expected "once"
