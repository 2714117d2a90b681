#!/usr/bin/env bash
# tools/wheel makes a wheel that installs without a network and works where nothing of the checkout
# is: the program on the PATH, its data, the Python package, the library with its header.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"
build=$4

python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' 2>/dev/null || {
  echo "skipped: python3 has no venv" && exit 77
}
expect_status 0 python3 "$checkout/tools/wheel" --no-build --build "$build" --out dist
wheels=(dist/*.whl)
[[ ${#wheels[@]} == 1 && ${wheels[0]} == dist/warpsmith-*-py3-none-*linux_* ]] ||
  expected "one wheel for any Python 3 on this platform, found: ${wheels[*]}"
unset PYTHONPATH # nothing of the checkout
python3 -m venv venv
expect_status 0 venv/bin/pip install --quiet --no-index --no-deps --disable-pip-version-check "${wheels[0]}"
mkdir elsewhere
cd elsewhere
PATH=$folder/venv/bin:$PATH
expect_status 0 warpsmith --version
[[ $output =~ ^warpsmith\ [0-9.]+(\ \([0-9a-f]{12}\+?\))?$ ]] || expected "version and commit, found: $output"
expect_status 0 warpsmith doctor
[[ $output == *"recordings     $folder/venv/share/warpsmith/data/recordings"* ]] ||
  expected "its own recordings, found: $output"
expect_status 0 warpsmith hgemm tune --device recorded --shapes 512x512x512 --run t --budget evals=5 --finalists 0
expect_status 0 warpsmith export t/512x512x512 -o best
expect_status 0 warpsmith task check "$folder/venv/share/warpsmith/tasks/softmax-f16" --text-only
expect_status 0 python -c "
import warpsmith, pathlib
verdict = warpsmith.evaluate('hgemm:512x512x512:TN', pathlib.Path('best'), device='recorded')
assert verdict.passed and verdict.ratio > 0.5, verdict
assert warpsmith.program() == '$folder/venv/bin/warpsmith', warpsmith.program()
assert (warpsmith.include_folder() / 'warpsmith/gemm.h').is_file()
assert warpsmith.library_version(), warpsmith.library_path()"
expect_status 0 python -m warpsmith.formats --help
