"""Tasks, kernels and measurements in the formats that others have. `python -m warpsmith.formats`.

kernel_tuner: recorded spaces out as T4, T1 and cache files; T4 and cache files in as tables.
flashinfer: FlashInfer Trace and SOL-ExecBench: definitions and workloads in, solutions and traces
out. kernelbench: a ModelNew and eval_results.json out. gpumode: task.yml in, a submission.py out.
huggingface: the GEMM library as a repository of `kernels`.

All of them refuse with warpsmith.BadInput in one line, and write a file or folder whole or not at
all.
"""
