"""Data for training models that write CUDA kernels: `python -m warpsmith.train --help`."""
