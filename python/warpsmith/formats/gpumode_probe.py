"""Runs a gpu-mode problem's own code, and says what tensors it draws and gives.

Reads {"cases": [spec, ...]} from stdin in the folder of the problem's files, and prints
{"cases": [{"data": ..., "outputs": [...]}, ...]}. Without a GPU: what asks for one gets the CPU.
Tensors are fake ones, without contents, unless the code looks at contents. It needs torch alone.
"""

import contextlib
import json
import os
import sys

sys.path.insert(0, os.getcwd())

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

_GENERATOR = torch.Generator
_BLANK = (torch.empty, torch.empty_like)


class _Generator(_GENERATOR):
    def __new__(cls, device=None):
        return _GENERATOR.__new__(cls)


class OnTheCpu(TorchFunctionMode):
    """Devices become the CPU; `blank` keeps the tensors that were made without contents."""

    def __init__(self):
        super().__init__()
        self.blank = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.cuda:
            return args[0]
        if kwargs.get("device") is not None:
            kwargs["device"] = "cpu"
        args = tuple("cpu" if _is_gpu(one) else one for one in args)
        kwargs.pop("generator", None)
        result = function(*args, **kwargs)
        if function in _BLANK:
            self.blank.append(result)
        return result


def _is_gpu(value):
    return str(value).startswith("cuda") if isinstance(value, (str, torch.device)) else False


def _tensor(value, kind):
    return {kind: {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}}


def _described(value, kind_of):
    """A nested structure as JSON: {"tuple": [...]}, {"dict": {...}}, {"value": 1}, {"input": ...}."""
    if isinstance(value, torch.Tensor):
        return _tensor(value, kind_of(value))
    if isinstance(value, (tuple, list)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_described(one, kind_of) for one in value]}
    if isinstance(value, dict):
        return {"dict": {str(name): _described(one, kind_of) for name, one in value.items()}}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    raise TypeError(f"the data hold a {type(value).__name__}, which a task cannot")


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    values = value.values() if isinstance(value, dict) else value
    return [one for inner in values for one in _tensors(inner)] if isinstance(
        value, (tuple, list, dict)) else []  # fmt: skip


def _case(problem, spec, fake):
    with torch.no_grad(), OnTheCpu() as mode, FakeTensorMode() if fake else contextlib.nullcontext():
        data = problem.generate_input(**spec)
        # What was made empty, and written by nobody, is a place for the answer.
        places = [one for one in mode.blank if one._version == 0]

        def kind_of(tensor):
            return "place" if any(tensor is one for one in places) else "input"

        described = _described(data, kind_of)
        given = _tensors(data)
        found = problem.ref_kernel(data)
        results = [found] if isinstance(found, torch.Tensor) else list(found)
        outputs = []
        for one in results:
            if not isinstance(one, torch.Tensor):
                raise TypeError(f"the reference gives a {type(one).__name__} among its outputs")
            place = next((i for i, other in enumerate(given) if one is other), None)
            outputs.append({**_tensor(one, "output")["output"], "place": place})
        return {"data": described, "outputs": outputs,
                "single": isinstance(found, torch.Tensor)}  # fmt: skip


def main():
    answer_to = os.dup(1)
    os.dup2(2, 1)  # what the problem prints is no answer
    torch.Generator = _Generator
    import reference as problem

    cases = []
    for spec in json.load(sys.stdin)["cases"]:
        try:
            cases.append(_case(problem, spec, fake=True))
        except TypeError:
            raise
        except Exception:  # it looks at contents
            cases.append(_case(problem, spec, fake=False))
    with os.fdopen(answer_to, "w") as file:
        json.dump({"cases": cases}, file)


main()
