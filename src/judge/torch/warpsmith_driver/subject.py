"""A driver in the peer: its contents drawn by a run of it; its paired module as a baseline.

reference.options of a paired task: `module`, the Python file; `dtype`, to cast it to; `inputs`, the
task's tensors that are forward()'s arguments; `parameters`, "name in state_dict=task's tensor,...".
"""
import torch

from warpsmith_driver import build
from warpsmith_driver.run import run
from warpsmith_peer import subject as peer_subject
from warpsmith_peer.arena import DTYPES
from warpsmith_peer.failures import BAD_INPUT, UNAVAILABLE, Failure
from warpsmith_peer.subject import ModuleSubject

_libraries = {}  # by path: a library cannot be loaded anew


def _library(sources):
    missing = [name for name in (build.DRIVER, build.LAUNCH) if name not in sources]
    if missing:
        raise Failure(BAD_INPUT, f"the driver's sources lack {', '.join(missing)}",
                      "import the problem again")
    try:
        path = build.build(sources)
    except build.BuildFailed as problem:
        raise Failure(UNAVAILABLE, str(problem), "see docs/tasks.md for what drivers need"
                      ) from None
    if path not in _libraries:
        _libraries[path] = build.load(path)
    return _libraries[path]


def draw(arena, seed, memory):
    """Fills the exact inputs, and the exact outputs with what the driver's own code expects."""
    library = _library(arena.task["reference"]["sources"])
    told = run(library, seed, [region.slots[0] for region in arena.exact])
    memory.synchronize()
    memory.release_cache()
    if told["error"]:
        raise Failure(BAD_INPUT, f"driver.cpp: {told['error']}", "import the problem again")
    shown = [region.role == "output" for region in arena.exact]
    if shown != [tensor["output"] for tensor in told["tensors"]]:
        raise Failure(BAD_INPUT, "driver.cpp compares other tensors than the task's outputs",
                      "import the problem again")
    return {"precision": "native", "text": "computed by the driver, in its own types"}


def load_paired_module(arena, device):
    options = arena.task["reference"].get("options", {})
    if "module" not in options:
        raise Failure(BAD_INPUT, "the task's driver has no PyTorch module beside it",
                      "leave out the torch baselines, or import with --python CHECKOUT")
    loaded = peer_subject.load_file(arena.task["reference"]["sources"], options["module"])
    return PairedModule(loaded, options["module"], arena, device)


class PairedModule(ModuleSubject):
    """Takes the task's tensors by the import's binding, not by their order."""

    def _create(self, seed):
        super()._create(seed)
        dtype = self._options().get("dtype")
        if dtype:
            self.module.to(DTYPES[dtype])

    def _options(self):
        return self.arena.task["reference"]["options"]

    def _match_state(self):
        names = self.arena.input_names
        inputs = list(filter(None, self._options().get("inputs", "").split(",")))
        if len(inputs) != self._tensors:
            raise Failure(BAD_INPUT, f"{self.entry}: get_inputs() returns {self._tensors} tensors, "
                          f"the task binds {len(inputs)}", "import the problem again")
        pairs = [pair.split("=") for pair in
                 filter(None, self._options().get("parameters", "").split(","))]
        self.state = [(own, names.index(tensor)) for own, tensor in pairs]
        for own, index in self.state:
            self._show_as(self.member(own).shape, names[index])
        # Positions among the tensors that are not state, which is what arguments() is given.
        rest = [i for i in range(len(names)) if i not in {index for _, index in self.state}]
        self._order = [rest.index(names.index(name)) for name in inputs]

    def _show_as(self, shape, name):
        """A driver may leave out extents of 1, or add some."""
        for region in [*self.arena.regions, *self.arena.exact]:
            if region.name == name:
                region.slots = [slot.view(shape) for slot in region.slots]

    def arguments(self, inputs):
        return super().arguments([inputs[place] for place in self._order])
