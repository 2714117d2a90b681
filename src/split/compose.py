"""Do a split's parts, one after another, compute what the whole task computes?

compose.py REQUEST RESULT: both JSON files. Run by split/composition.cc, on the CPU, with the torch
peer's package importable; nothing is measured here, and no GPU is needed or disturbed.
"""
import json
import sys
import traceback

import torch
from reference_rules import check_reference
from warpsmith_peer.arena import DTYPES, Arena
from warpsmith_peer.expected import compute_expected, draw_inputs
from warpsmith_peer.failures import BAD_INPUT, Failure, one_line
from warpsmith_peer.memory import HostMemory
from warpsmith_peer.subject import load_subject

_MEMORY = HostMemory()


class _Region:
    def __init__(self, name, role, tensor):
        self.name, self.role, self.slots = name, role, [tensor]
        self.dtype, self.extents = tensor.dtype, tuple(tensor.shape)


class _HeldArena(Arena):
    """Tensors of this process in the place of the oracle's."""

    def __init__(self, task, sizes, tensors):
        self.task, self.sizes = task, sizes
        self.regions = []
        self.exact = [_Region(t["name"], t["role"], tensors[t["name"]]) for t in task["tensors"]]


def _drawn(spec, generator):
    kind, shape = spec["generator"], spec["extents"]
    if kind == "integers":
        values = torch.randint(spec["low"], spec["high"], shape, generator=generator)
    elif kind == "offsets":
        values = torch.randint(0, spec["high"] + 1, shape, generator=generator).flatten()
        values = values.sort().values
        values[0], values[-1] = 0, spec["high"]
        values = values.reshape(shape)
    elif kind == "normal":
        values = torch.randn(shape, generator=generator)
    else:
        values = torch.rand(shape, generator=generator)
        values = 2 * values - 1 if kind == "uniform" else values
    return values.to(DTYPES[spec["dtype"]])


def _empty(spec, exact):
    """What is exact is not rounded to the type that it is passed on in."""
    dtype = DTYPES[spec["dtype"]]
    return torch.zeros(spec["extents"],
                       dtype=torch.float64 if exact and dtype.is_floating_point else dtype)


class _Workload:
    def __init__(self, request, fields, seed):
        self.request, self.fields, self.seed = request, fields, seed
        self.specs, self.sizes = fields["tensors"], fields["sizes"]
        self.whole = request["whole"]
        self._inputs = self._draw()
        self.expected = self._run(self.whole, self._named(self.whole), dict(self._inputs), True)

    def _named(self, task):
        return {tensor["name"]: tensor["name"] for tensor in task["tensors"]}

    def _draw(self):
        generator = torch.Generator().manual_seed(self.seed)
        inputs = {t["name"]: self.specs[t["name"]] for t in self.whole["tensors"]
                  if t["role"] == "input"}
        values = {name: _empty(spec, False) for name, spec in inputs.items()}
        if any(spec["generator"] == "reference" for spec in inputs.values()):
            outputs = {t["name"]: _empty(self.specs[t["name"]], True)
                       for t in self.whole["tensors"] if t["role"] == "output"}
            arena = _HeldArena(self.whole, self.sizes, {**values, **outputs})
            draw_inputs(load_subject(arena, _MEMORY.device), arena, self.seed)
        for name, spec in inputs.items():
            if spec["generator"] != "reference":
                values[name] = _drawn(spec, generator)
        return values

    def _run(self, task, names, values, exact):
        """`values` with the task's outputs; `names`: what its tensors are called there."""
        outputs = [t["name"] for t in task["tensors"] if t["role"] == "output"]
        for name in outputs:
            values[names[name]] = _empty(self.specs[names[name]], True)
        arena = _HeldArena(task, self.sizes, {own: values[name] for own, name in names.items()})
        compute_expected(load_subject(arena, _MEMORY.device), arena, _MEMORY)
        for name in outputs if not exact else ():
            spec = self.specs[names[name]]
            values[names[name]] = values[names[name]].to(DTYPES[spec["dtype"]])
        return values

    def composed(self, exact):
        values = dict(self._inputs)
        for part in self.request["parts"]:
            try:
                self._run(part["task"], part["values"], values, exact)
            except Failure as failure:
                raise Failure(failure.code, f"{part['name']}: {failure.message}",
                              failure.fix) from None
        return values

    def fractions(self, values):
        """Of each output: (name, largest error / bound)."""
        return [(bound["output"], _fraction(values[bound["output"]],
                                            self.expected[bound["output"]], bound))
                for bound in self.fields["bounds"]]

    def zeros(self):
        return {bound["output"]: torch.zeros_like(self.expected[bound["output"]])
                for bound in self.fields["bounds"]}


def _fraction(value, expected, bound):
    value, expected = value.double(), expected.double()
    if not bool(expected.isfinite().all()):
        raise Failure(BAD_INPUT, f"the whole's reference gives infinite or no numbers for "
                      f"{bound['output']}", "correct the task's inputs or its reference")
    error = (value - expected).abs()
    allowed = (bound["relative"] * expected.abs() + bound["absolute"]
               + bound["largest"] * expected.abs().max())
    error = torch.where(error == 0, error, error / allowed)  # 0 of 0 is right
    return float(error.nan_to_num(float("inf"), float("inf")).max())


def _check(workload):
    """The worst of its outputs as (fraction, output), or a Failure."""
    if max(fraction for _, fraction in workload.fractions(workload.zeros())) <= 1:
        raise Failure(BAD_INPUT, "zeros alone are within the whole's tolerance, so nothing can be shown", "give the whole task a tighter tolerance, or other inputs")
    kept = max((fraction, name) for name, fraction in workload.fractions(workload.composed(False)))
    if kept[0] <= 1:
        return kept
    exact = max((fraction, name) for name, fraction in workload.fractions(workload.composed(True)))
    if exact[0] <= 1:
        raise Failure(BAD_INPUT, f"the parts are right but lose too much between them: output {kept[1]} "
                      f"is {kept[0]:.2g} times its bound from the whole's reference, and "
                      "within it where nothing is rounded between parts",
                      "pass tensors between parts in a wider type (f32)")
    raise Failure(BAD_INPUT, f"the parts do not compose to the whole: output {exact[1]} is "
                  f"{exact[0]:.2g} times its bound from the whole's reference",
                  "correct the parts' references, or how their tensors join")


def _answer(request):
    if request["strict"]:
        for part in request["parts"]:
            for path, text in part["task"]["reference"]["sources"].items():
                check_reference(part["name"] + "/" + path, text)
    worst, comparisons = (0.0, "", ""), 0
    for fields in request["workloads"]:
        for seed in request["seeds"]:
            try:
                fraction, output = _check(_Workload(request, fields, seed))
            except Failure as failure:
                raise Failure(failure.code, f"workload '{fields['name']}': {failure.message}",
                              failure.fix) from None
            worst = max(worst, (fraction, output, fields["name"]))
            comparisons += len(fields["bounds"])
    return {"worst": worst[0], "output": worst[1], "workload": worst[2],
            "comparisons": comparisons}


def main(request_path, result_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    try:
        answer = _answer(request)
    except Failure as failure:
        answer = {"problem": failure.message, "fix": failure.fix}
    except MemoryError:
        answer = {"problem": "there is not enough memory for these sizes", "fix": "use a larger machine"}
    except Exception as problem:
        traceback.print_exc()
        answer = {"problem": one_line(problem), "fix": "correct the parts, or the whole task"}
    with open(result_path, "w", encoding="utf-8") as file:
        json.dump(answer, file)


main(*sys.argv[1:])
