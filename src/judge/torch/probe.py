"""Tells what is here. Last line of output: JSON, {"absent": what, "fix": what to do} or versions."""
import json
import sys


def answer(value):
    print(json.dumps(value))
    sys.exit(0)


python = ".".join(map(str, sys.version_info[:3]))
if sys.version_info < (3, 10):
    answer({"absent": "it is Python " + python + ", too old",
            "fix": "set WARPSMITH_PYTHON to a Python from 3.10 that has torch"})
try:
    import torch
except Exception as error:  # a broken installation raises more than ImportError
    lines = str(error).splitlines() or [type(error).__name__]
    answer({"absent": "torch cannot be imported: " + lines[0],
            "fix": "install torch for it, or set WARPSMITH_PYTHON to a Python that has torch"})
version = torch.__version__
if tuple(int(part) for part in version.split("+")[0].split(".")[:2]) < (2, 1):
    answer({"absent": "torch " + version + " is too old", "fix": "install torch 2.1 or newer"})
if torch.version.cuda is None:
    answer({"absent": "torch " + version + " was built without CUDA",
            "fix": "install a CUDA build of torch"})
if not torch.cuda.is_available():
    answer({"absent": "torch " + version + " (CUDA " + torch.version.cuda + ") finds no CUDA device",
            "fix": "check nvidia-smi, CUDA_VISIBLE_DEVICES, and that the driver is new enough"})
answer({"python": python, "torch": version, "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name()})
