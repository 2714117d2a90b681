"""Makes CUDA kernels faster and proves it.

evaluate(task, source) and Session judge candidates through the program `warpsmith`, whose refusals
are exceptions of type Error. matmul(a, b) multiplies half-precision matrices by kernels that were
measured to be fastest, explain(a, b) says with which kernel, and why; both need torch, and
WarpsmithError is what their library refuses with. `python -m warpsmith.formats` translates files.
"""

import importlib
import sys

from warpsmith._judge import (
    Comparison,
    Interval,
    ModeTiming,
    Session,
    Verdict,
    candidate_document,
    evaluate,
    verdict_from,
)
from warpsmith._library import WarpsmithError, include_folder, library_path, library_version
from warpsmith._program import BadInput, Busy, Error, NeedsGpu, NotRecorded, program

__all__ = [
    "BadInput", "Busy", "Comparison", "Error", "Interval", "ModeTiming", "NeedsGpu", "NotRecorded",
    "Session", "Verdict", "WarpsmithError", "candidate_document", "evaluate", "explain",
    "include_folder", "library_path", "library_version", "matmul", "program", "verdict_from",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """matmul, explain and inductor bring torch, which takes seconds and is not always there."""
    if name not in ("explain", "inductor", "matmul"):
        raise AttributeError(f"module 'warpsmith' has no attribute {name!r}")
    try:
        if name == "inductor":
            return importlib.import_module("warpsmith.inductor")
        return getattr(importlib.import_module("warpsmith._operator"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
    raise ImportError(
        f"warpsmith.{name} takes PyTorch's tensors, and {sys.executable} has no torch: "
        "python -m pip install torch (2.4 or newer)",
        name="torch",
    )


if "torch" in sys.modules:  # so that torch.ops.warpsmith.matmul is there at once
    importlib.import_module("warpsmith._operator")
