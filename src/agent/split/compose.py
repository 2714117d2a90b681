"""Do a split's parts, one after another, compute what the whole task computes?

compose.py FOLDER REQUEST RESULT: of these scripts, and both JSON files. Run by split/composition.cc,
on the CPU, with the torch peer's package importable; nothing is measured here, and no GPU is needed
or disturbed. The parts run in a process of their own (parts_process.py), which never sees what the
whole gives.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback

import torch
from joined_run import (draw_from_reference, dtype_of, names_of, receive_tensor, run, send_tensor,
                        zeros)
from warpsmith_peer.failures import BAD_INPUT, UNAVAILABLE, Failure, one_line
from warpsmith_peer.frames import FrameError, FrameSocket


_MODULE_FOLDERS = [place for place in sys.path if place not in ("", sys.argv[1])]  # not ours


def _python_folders():
    """What a confined Python must read to be this one."""
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix,
              os.path.dirname(sys.executable), *_MODULE_FOLDERS]
    real = [os.path.realpath(place) for place in (*places, sys.executable)]
    every = [*places, *real[:-1], os.path.dirname(real[-1])]
    return sorted({place for place in every if os.path.isabs(place) and os.path.exists(place)
                   and place != "/"})


class _Parts:
    """The process in which the parts run."""

    def __init__(self, process):
        ours, theirs = socket.socketpair()
        number = theirs.fileno()
        before = process["launcher"] and [*process["launcher"], *_python_folders(), "--"]
        self._said = tempfile.TemporaryFile()
        self._child = subprocess.Popen(
            [*before, sys.executable, "-c", process["program"], process["folder"], str(number)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said,
            pass_fds=[number], env={**os.environ, "TMPDIR": process["scratch"],
                                    "PYTHONPATH": os.pathsep.join(_MODULE_FOLDERS)})
        theirs.close()
        self._connection = FrameSocket(ours.detach())
        self.confined = self._started()
        self._reply()

    def _started(self):
        try:
            return str(json.loads(self._connection.receive().header).get("confined"))
        except FrameError:
            self._child.wait()
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip().splitlines()
            raise Failure(UNAVAILABLE, "the parts' process did not start: "
                          f"{said[-1] if said else 'it said nothing'}",
                          "warpsmith doctor says what its sandbox lacks here") from None

    def compute(self, workload, outputs, exact):
        """Those of what the parts make that `outputs` names, by name."""
        try:
            self._connection.send({"tensors": workload.specs, "sizes": workload.sizes,
                                   "outputs": outputs, "exact": exact})
            for name in names_of(workload.whole, "input"):
                send_tensor(self._connection, workload.inputs[name])
            self._reply()
            return {name: receive_tensor(self._connection, workload.specs[name], exact)
                    for name in outputs}
        except (FrameError, OSError):
            raise self._ended() from None

    def _receive(self):
        try:
            header = json.loads(self._connection.receive().header)
        except (FrameError, OSError, ValueError):
            raise self._ended() from None
        return header if isinstance(header, dict) else {}

    def _reply(self):
        reply = self._receive()
        if "problem" in reply:
            raise Failure(BAD_INPUT, str(reply["problem"]), str(reply.get("fix", "")))

    def _ended(self):
        try:
            status = self._child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            status = "no end"
        return Failure(BAD_INPUT, "the process that runs the parts broke off (status "
                       f"{status})", "let the parts need less memory, or run on a larger machine")


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
    return values.to(dtype_of(spec, False))


class _Workload:
    """A drawing of the whole's inputs, and what the whole makes of it."""

    def __init__(self, whole, fields, seed):
        self.whole, self.specs, self.sizes = whole, fields["tensors"], fields["sizes"]
        self.bounds, self.part_bounds = fields["bounds"], fields["part_bounds"]
        self.inputs = self._draw(seed)
        self.expected = dict(self.inputs)
        names = {tensor["name"]: tensor["name"] for tensor in whole["tensors"]}
        run(whole, names, self.specs, self.sizes, self.expected, True)
        self._check_whole()

    def _draw(self, seed):
        generator = torch.Generator().manual_seed(seed)
        values = {name: zeros(self.specs[name], False) for name in names_of(self.whole, "input")}
        if any(self.specs[name]["generator"] == "reference" for name in values):
            draw_from_reference(self.whole, self.specs, self.sizes, values, seed)
        for name in values:
            if self.specs[name]["generator"] != "reference":
                values[name] = _drawn(self.specs[name], generator)
        return values

    def _check_whole(self):
        for bound in self.bounds:
            if not _is_finite(self.expected[bound["output"]]):
                raise Failure(BAD_INPUT, "the whole's reference gives infinite or no numbers for "
                              f"{bound['output']}", "correct the task's inputs or its reference")
        if all(_zeros_pass(self.expected[bound["output"]], bound) for bound in self.bounds):
            raise Failure(BAD_INPUT, "zeros alone are within the whole's tolerance, so nothing can "
                          "be shown", "give the whole task a tighter tolerance, or other inputs")

    def check_parts(self, values):
        """Each can be judged alone, too."""
        for bound in self.part_bounds:
            value, name = values[bound["output"]], f"{bound['part']}: {bound['output']}"
            if not _is_finite(value):
                raise Failure(BAD_INPUT, f"{name} holds infinite or no numbers",
                              "pass on what is finite, a mask apart from what it masks")
            if _zeros_pass(value, bound):
                raise Failure(BAD_INPUT, f"{name} would pass as zeros, so wide is the part's "
                              "tolerance", "give the part a reduction_length, or a tolerance")

    def worst(self, values):
        """Of the outputs (largest error / bound, name)."""
        return max((_fraction(values[bound["output"]], self.expected[bound["output"]], bound),
                    bound["output"]) for bound in self.bounds)


def _is_finite(value):
    return bool(value.double().isfinite().all())


def _zeros_pass(value, bound):
    return _fraction(torch.zeros_like(value), value, bound) <= 1


def _fraction(value, expected, bound):
    if not expected.numel():
        return 0.0
    if not expected.is_floating_point():
        value, expected = value.long(), expected.long()  # f64 does not hold them all
    error = (value - expected).abs().double()
    value, expected = value.double(), expected.double()
    apart = (value - expected).abs()
    error = torch.where(apart < 2.0**62, error, apart)  # i64 does not hold every difference
    allowed = (bound["relative"] * expected.abs() + bound["absolute"]
               + bound["largest"] * expected.abs().max())
    error = torch.where(error == 0, error, error / allowed)  # 0 of 0 is right
    return float(error.nan_to_num(float("inf"), float("inf")).max())


def _check(workload, parts):
    """The worst of its outputs as (fraction, output), or a Failure."""
    if parts is None:
        return 0.0, ""
    made = parts.compute(workload, [bound["output"] for bound in workload.part_bounds], False)
    kept = workload.worst(made)
    if kept[0] <= 1:
        workload.check_parts(made)
        return kept
    outputs = names_of(workload.whole, "output")
    exact = workload.worst(parts.compute(workload, outputs, True))
    if exact[0] <= 1:
        raise Failure(BAD_INPUT, "the parts are right but lose too much between them: output "
                      f"{kept[1]} is {kept[0]:.2g} times its bound from the whole's reference, and "
                      "within it where nothing is rounded between parts",
                      "pass tensors between parts in a wider type (f32)")
    raise Failure(BAD_INPUT, f"the parts do not compose to the whole: output {exact[1]} is "
                  f"{exact[0]:.2g} times its bound from the whole's reference",
                  "correct the parts' references, or how their tensors join")


def _in_workload(request, fields, parts):
    """For each drawing (fraction, output)."""
    try:
        return [_check(_Workload(request["whole"], fields, seed), parts)
                for seed in request["seeds"]]
    except Failure as failure:
        raise Failure(failure.code, f"workload '{fields['name']}': {failure.message}",
                      failure.fix) from None


def _answer(request):
    parts, worst, comparisons = None, (0.0, "", ""), 0
    if request["parts"]:
        parts = _Parts(request["parts"])
    for fields in request["workloads"]:
        for fraction, output in _in_workload(request, fields, parts):
            worst = max(worst, (fraction, output, fields["name"]))
            comparisons += len(fields["bounds"])
    return {"worst": worst[0], "output": worst[1], "workload": worst[2],
            "comparisons": comparisons, "confined": parts.confined if parts else ""}


def main(request_path, result_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    try:
        answer = _answer(request)
    except Failure as failure:
        answer = {"problem": failure.message, "fix": failure.fix, "code": failure.code}
    except MemoryError:
        answer = {"problem": "there is not enough memory for these sizes",
                  "fix": "use a larger machine", "code": BAD_INPUT}
    except Exception as problem:
        traceback.print_exc()
        answer = {"problem": one_line(problem), "fix": "correct the parts, or the whole task",
                  "code": BAD_INPUT}
    with open(result_path, "w", encoding="utf-8") as file:
        json.dump(answer, file)


main(*sys.argv[2:])
