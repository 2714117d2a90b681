"""KernelBench and KernelBench-CUDA problems as task folders."""
