"""Whether a module computes what a driver does: its bindings are tried, in a process of its own."""
import math

import torch

from warpsmith_driver import build
from warpsmith_driver.run import run
from warpsmith_driver.subject import draw, load_paired_module
from warpsmith_peer.arena import DTYPES, Arena
from warpsmith_peer.baseline import Callee
from warpsmith_peer.expected import outputs_of
from warpsmith_peer.memory import HostMemory

_SEED = 3
_CHUNK = 1 << 24
# Of the expected outputs' root mean square. Bounds of a driver may be so wide that anything fits
# them, and so narrow that rounding alone, where large numbers cancel, leaves them.
_ALIKE, _NEARLY_EQUAL = 0.05, 0.005


class _Region:
    def __init__(self, tensor, device):
        self.name, self.role = tensor["name"], tensor["role"]
        self.dtype, self.extents = DTYPES[tensor["dtype"]], tuple(tensor["shape"])
        self.slots = [torch.empty(self.extents, dtype=self.dtype, device=device)]


class _OwnArena(Arena):
    """In torch's own memory, not the judge's."""
    regions, sizes = (), {}

    def __init__(self, task, device):
        self.task, self.exact = task, [_Region(tensor, device) for tensor in task["tensors"]]


def _numbers(tensor):
    """Overflow counts as the largest number that is none."""
    largest = torch.finfo(tensor.dtype).max if tensor.is_floating_point() else None
    return tensor.double().nan_to_num(math.nan, largest, largest and -largest)


def _compare(results, regions, tolerance):
    """(elements beyond the tolerance, root mean square of the error relative to the outputs')."""
    wrong, error, scale = 0, 0.0, 0.0
    for result, region in zip(results, regions):
        parts = zip(result.reshape(-1).split(_CHUNK), region.slots[0].reshape(-1).split(_CHUNK))
        for got, wanted in parts:
            close = torch.isclose(got.double(), wanted.double(), rtol=tolerance["relative"],
                                  atol=tolerance["absolute"])
            wrong += close.numel() - int(close.sum())
            wanted = _numbers(wanted)
            error += float((_numbers(got) - wanted).square().sum())
            scale += float(wanted.square().sum())
    return wrong, math.sqrt(error / scale) if scale else math.inf if error else 0.0


def _tried(arena, options, device, tolerance):
    arena.task["reference"]["options"] = options
    callee = Callee("eager", load_paired_module(arena, device), arena)
    with torch.no_grad():
        results = outputs_of(callee.exact.call([0] * len(arena.exact)))
    return _compare(results, arena.exact_of("output"), tolerance)


def _is_right(wrong, error):
    return error <= _NEARLY_EQUAL or (wrong == 0 and error <= _ALIKE)


def choose(folder, tensors, tolerance, bindings):
    """{"binding": the index of the best of those that are right} or {"error": why there is none}.
    `bindings`: reference.options, each; `tensors`, `tolerance`: the task's."""
    names = (build.DRIVER, build.LAUNCH, bindings[0]["module"])
    sources = {name: (folder / name).read_text() for name in names}
    told = run(build.load(build.build(sources)), _SEED)
    device = "cpu" if all(tensor["host"] for tensor in told["tensors"]) else "cuda"
    arena = _OwnArena({"tensors": tensors, "reference": {"sources": sources}}, device)
    draw(arena, _SEED, HostMemory())
    tried, problem = [], None
    for index, options in enumerate(bindings):
        try:
            wrong, error = _tried(arena, options, device, tolerance)
            tried.append((error if error == error else math.inf, wrong, index))
        except Exception as failure:
            problem = problem or " ".join(str(failure).split())
        if index > 0 and any(_is_right(wrong, error) for error, wrong, _ in tried):
            break  # after the two that are likely
    if not tried:
        return {"error": problem}
    error, wrong, index = min(tried)
    if _is_right(wrong, error):
        return {"binding": index}
    return {"error": f"the module gives other outputs than the driver ({wrong} elements beyond its "
            f"tolerance, {error:.2g} of their size in the root mean square)"}
