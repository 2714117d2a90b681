#!/usr/bin/env bash
# What cannot end well is refused before it begins: no GPU, no folder to write to, files in the way,
# options that nothing would look at, a reference that is no Python.
# shellcheck source=tests/program/prelude.sh disable=SC1091
source "$(dirname "$0")/prelude.sh" "$@"

# A kernel's parameters may be called by Python's words.
cat >mine.cu <<'END'
__global__ void scale(const float* in, float* lambda, int is) {}
void launch(const float* in, float* lambda, int is) { scale<<<(is + 255) / 256, 256>>>(in, lambda, is); }
END
expect_status 0 "$program" task init mine.cu --function scale --out task
expect_status 1 "$program" task check task --text-only
[[ $output == *reference-unwritten* && $output != *unparseable* ]] ||
  expected "a reference that Python reads, found: $output"
printf 'def reference(in, is):\n    return in\n' >task/reference.py
if command -v python3 >/dev/null; then
  expect_status 1 "$program" task check task --text-only
  [[ $output == *"reference-unparseable: reference.py: is no Python: invalid syntax (line 1)"* ]] ||
    expected "the reference to be refused, found: $output"
fi
printf 'def reference(in_, is_):\n    return 2 * in_\n' >task/reference.py
expect_status 0 "$program" task check task --text-only

# What the judge would refuse is refused by the check, too.
mkdir product
cat >product/task.toml <<'END'
version = 1
name = "product"
tensors = [{ name = "A", dtype = "f16", role = "input", shape = ["M", "K"] },
  { name = "B", dtype = "f16", role = "input", shape = ["N", "K"] },
  { name = "C", dtype = "f16", role = "output", shape = ["M", "N"] }]
baselines = ["cublas-auto"]
reference = { kind = "gemm", options = { layout = "TN" } }
tolerance = { reduction_length = "K" }
workloads = [{ name = "main", sizes = { M = 64, N = 64, K = 64 } }]
END
expect_status 1 "$program" task check product
[[ $output == *"no GEMM baseline is called 'cublas-auto'"*"cublaslt-auto"* ]] ||
  expected "the baselines there are, found: $output"
sed -i 's/cublas-auto/cublaslt-auto/' product/task.toml
expect_status 0 "$program" task check product

# The task's own kernel compiles, and takes what its plan gives it. Needs NVRTC.
if [[ $("$program" doctor) == *"ok   NVRTC"* ]]; then
  expect_status 0 "$program" task check task
  [[ $output == *"compiled for sm_"*": current"* ]] || expected "current compiled, found: $output"
  sed -i.bak '/# is/d' task/current/candidate.toml
  expect_status 1 "$program" task check task
  [[ $output == *"plan-mismatch: current: kernel 'scale' takes 3 parameters, the plan gives 2"* ]] ||
    expected "the arguments to be counted, found: $output"
  mv task/current/candidate.toml.bak task/current/candidate.toml
  cp -r task broken
  printf 'extern "C" __global__ void scale(const float* in, float* out, int n) {\n  a = 1;\n  b = 2;\n}\n' \
    >broken/current/mine.cu
  for arguments in "task check broken" "profile broken broken/current --device recorded"; do
    # shellcheck disable=SC2086
    expect_status 1 "$program" $arguments
    [[ $output == *'mine.cu(2): error: '*$'\n''  mine.cu(3): error: '* ]] ||
      expected "both errors of the compiler from '$arguments', found: $output"
  done
fi

# Without a GPU there is one answer to everything that would measure, and nothing is compiled.
printf 'this is no C++\n' >task/current/mine.cu
if [[ ! -e /dev/nvidiactl ]]; then
  mkdir -p many
  cp -r task many/task
  cp -r task/current many/task/mine
  for arguments in "evaluate task task/current" "evaluate --many many" \
    "compare task task/current task/current" "optimize task --candidate task/current" \
    "optimize task --proposer agent --model openai:m@http://127.0.0.1:1/v1"; do
    # shellcheck disable=SC2086
    expect_status 69 "$program" $arguments --store s.db
    [[ $(wc -l <<<"$output") == 1 && $output == *"needs an NVIDIA GPU; none here"*"three ways"* ]] ||
      expected "'$arguments' to say in one line that it needs a GPU, found: $output"
  done
  printf '%s\n' \
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"evaluate_candidate","arguments":{"base":"start"}}}' |
    "$program" mcp task --candidate task/current --store s.db --quiet >mcp.txt 2>/dev/null
  grep -q 'needs an NVIDIA GPU; none here' mcp.txt || expected "MCP to say so, found: $(cat mcp.txt)"
fi
expect_status 78 "$program" optimize hgemm:512x512x512:TN --proposer agent --device recorded \
  --model openai:m@http://127.0.0.1:1/v1 --store s.db
[[ $output == *"writes new kernels"* ]] || expected "why not, found: $output"

expect_status 2 "$program" optimize hgemm:512x512x512:TN --model openai:m@http://127.0.0.1:1/v1
[[ $output == *"--model"*"goes with --proposer agent"* ]] || expected "why not, found: $output"
for option in --html --csv --json-file; do
  expect_status 2 "$program" optimize hgemm:512x512x512:TN --device recorded $option nodir/file
  [[ $output == *"no folder nodir"* ]] || expected "the folder to be named, found: $output"
done

tune=(hgemm tune --device recorded --shapes 512x512x512 --budget evals=5 --finalists 0 --store t.db)
expect_status 0 "$program" "${tune[@]}" --run tuned
expect_status 0 "$program" export tuned/512x512x512 --store t.db -o best
before=$(cat best/verdict.json)
printf 'mine' >best/verdict.json
expect_status 78 "$program" export tuned/512x512x512 --store t.db -o best
[[ $(cat best/verdict.json) == mine ]] || expected "the export to leave what is there"
expect_status 0 "$program" export tuned/512x512x512 --store t.db -o best --force
[[ $(cat best/verdict.json) == "$before" ]] || expected "--force to write over it"
expect_status 0 "$program" report --store t.db
[[ $output =~ ^20[0-9-]+T[0-9:]+\ +[0-9.]+x\ +tuned/512x512x512 ]] ||
  expected "date and ratio of the run, found: $output"

# A task's spaces are recorded by its candidates.
row_sum=$checkout/tasks/row-sum-f32
expect_status 2 "$program" record new.wsrec --task "$row_sum" --dry-run
[[ $output == *"names no kernel to record"* ]] || expected "candidates to be asked for, found: $output"
expect_status 2 "$program" record new.wsrec --candidate "$row_sum/block" --dry-run
expect_status 2 "$program" record new.wsrec --task "$row_sum" --shapes 64x64x64 --dry-run
expect_status 0 "$program" record new.wsrec --task "$row_sum" --candidate "$row_sum/naive" "$row_sum/block" --dry-run
[[ $output == *"row-sum-f32 naive"* && $output == *"row-sum-f32 block"* ]] || expected "two spaces, found: $output"
[[ ! -e new.wsrec ]] || expected "a dry run to write nothing"

# A stream of candidates: a line for a line, errors too.
printf '%s\n' '["best"]' '["none"]' '{}' 'no JSON' '["best", "best"]' >lines
expect_status 0 bash -c "'$program' evaluate hgemm:512x512x512:TN --stream --device recorded \
  --store t.db --quiet <lines"
[[ $(grep -c . <<<"$output") == 5 && $(grep -c '"schema":"warpsmith.evaluation"' <<<"$output") == 2 &&
  $(grep -o '"outcome":"passed"' <<<"$output" | wc -l) == 3 ]] || expected "5 answers, found: $output"
expect_status 2 "$program" evaluate hgemm:512x512x512:TN best --stream
