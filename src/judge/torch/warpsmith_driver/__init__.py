"""KernelBench-CUDA drivers as references: compiled with our capture, run, and copied from."""
