#!/usr/bin/env bash
# What warpsmith.formats writes is what our own program takes, and its readers survive mutations.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

python=$(command -v python3) || { echo "skipped: no python3" && exit 77; }
"$python" -c 'import tomllib' 2>/dev/null || { echo "skipped: $python is older than 3.11" && exit 77; }
export PYTHONPATH=$checkout/python PYTHONDONTWRITEBYTECODE=1
"$python" "$checkout/python/tests/test_formats.py" "$checkout"

cat >definition.json <<'END'
{"name": "scale", "op_type": "x", "axes": {"n": {"type": "var"}, "two": {"type": "const", "value": 2}},
 "inputs": {"x": {"shape": ["n", "two"], "dtype": "bfloat16"}, "index": {"shape": ["n"], "dtype": "int32"},
            "mask": {"shape": ["n"], "dtype": "bool"}, "by": {"shape": null, "dtype": "float32"}},
 "outputs": {"y": {"shape": ["n", "two"], "dtype": "bfloat16"}},
 "reference": "def run(x, index, mask, by):\n    return {'y': x * by}\n"}
END
for n in 3 5; do
  printf '{"uuid": "u%s", "axes": {"n": %s}, "inputs": {"by": {"type": "scalar", "value": 0.5}}}\n' $n $n
done >workloads.jsonl
expect_status 0 "$python" -m warpsmith.formats flashinfer-import definition.json \
  --workloads workloads.jsonl -o task
expect_status 0 "$program" task check task
[[ $output =~ "scale: "("its text is ")?"good" ]] || expected "a good task, found: $output"
