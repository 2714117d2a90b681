"""Baselines: the task's PyTorch code as a user runs it, on tensors that lie in the oracle's slots.

A call takes its inputs where they lie: tensors are passed, and a module's parameters are made to
show the slot (`.data`), so nothing is copied. What the code writes to would spoil the slots, so it
gets a private tensor instead: one that is filled from the slot before each call, or, where no
output depends on it (running statistics), one that is left to the code.
"""
import gc

import torch

from warpsmith_peer.expected import check_outputs, outputs_of
from warpsmith_peer.failures import UNAVAILABLE, Failure, of_user_code


class _Bound:
    """A parameter or buffer of the module, and the tensors it can show."""

    def __init__(self, member, place, table):
        self.member, self.place, self.table = member, place, table
        self.shown = None


class Binding:
    """The callee on one set of regions: slots, or the exact ones."""

    def __init__(self, callee, regions):
        self._callee = callee
        self.roles = len(regions)
        inputs = [place for place, r in enumerate(regions) if r.role == "input"]
        tables = {index: regions[place].slots for index, place in enumerate(inputs)}
        self._filled = [(callee.private[index], tables[index], inputs[index])
                        for index in callee.filled]
        for index, private in callee.private.items():
            tables[index] = [private] * len(tables[index])
        subject = callee.subject
        self._state = [_Bound(subject.member(name), inputs[index], tables[index])
                       for name, index in subject.state]
        stateful = {index for _, index in subject.state}
        self._arguments = [(tables[index], place) for index, place in enumerate(inputs)
                           if index not in stateful]
        self._outputs = [(r, place) for place, r in enumerate(regions) if r.role == "output"]

    def rebind(self):
        """Another binding may have used the module since."""
        for bound in self._state:
            bound.shown = None

    def bind(self, slots):
        """`slots`: one index per tensor of the task. Returns what the code is called with."""
        for bound in self._state:
            slot = slots[bound.place]
            if bound.shown != slot:
                bound.member.data = bound.table[slot]
                bound.shown = slot
        for private, table, place in self._filled:
            private.copy_(table[slots[place]])
        return self._callee.subject.arguments(
            [table[slots[place]] for table, place in self._arguments])

    def call(self, slots):
        return self._callee.run(*self.bind(slots))

    def check(self, result):
        check_outputs(self._callee.subject.entry, outputs_of(result),
                      [region for region, _ in self._outputs], same_dtype=True)

    def store(self, result, slots):
        for value, (region, place) in zip(outputs_of(result), self._outputs):
            target = region.slots[slots[place]]
            target.copy_(value if value.shape == target.shape else value.reshape(target.shape))

    def stand_ins(self):
        """Tensors like a result."""
        return [region.slots[0].new_zeros(region.extents) for region, _ in self._outputs]


class Callee:
    """Needs valid contents in the exact inputs: it is tried on them."""

    def __init__(self, name, subject, arena):
        self.name, self.subject = name, subject
        self._inputs = arena.exact_of("input")
        self.run = self._plain = self._function()
        with torch.no_grad():
            self._find_written(arena)
            if name == "compile":
                self._compile(arena)
        self.exact = Binding(self, arena.exact)
        self.slots = Binding(self, arena.regions) if arena.regions else None
        gc.collect()
        gc.freeze()  # what torch made so far need not be looked through again

    def _function(self):
        target, sizes = self.subject.target, self.subject.sizes
        return (lambda *tensors: target(*tensors, **sizes)) if sizes else target

    def _find_written(self, arena):
        """Runs on copies of everything, and keeps copies of what the code wrote to: `private` by
        input, of which those in `filled` have to be filled before each call."""
        self.private = {i: region.slots[0].clone() for i, region in enumerate(self._inputs)}
        self.filled = []
        binding, first = Binding(self, arena.exact), [0] * len(arena.exact)
        binding.bind(first)
        watched = dict(self.private)
        watched.update({i: self.subject.member(name) for name, i in self.subject.state})
        before = {i: tensor._version for i, tensor in watched.items()}
        result = self._tried(binding, first)
        written = [i for i, tensor in watched.items()
                   if tensor._version != before[i] or self._differs(i, tensor)]
        stateful = {i for _, i in self.subject.state}
        self.filled = [i for i in written if i not in stateful]
        if set(written) & stateful and self._depends_on_state(binding, first, result):
            self.filled = written
        self.private = {i: self.private[i] for i in written}

    def _tried(self, binding, slots):
        with self.subject.running(f"running the {self.name} baseline"):
            result = binding.call(slots)
        binding.check(result)
        return result

    def _differs(self, index, tensor):
        """Some code writes without torch's version counters telling: batch norm's does."""
        return not torch.equal(_bits(tensor), _bits(self._inputs[index].slots[0]))

    def _depends_on_state(self, binding, slots, result):
        """Whether a second call, on the state that the first one left, gives something else."""
        first = [tensor.clone() for tensor in outputs_of(result)]
        for index in self.filled:
            self.private[index].copy_(self._inputs[index].slots[0])
        second = outputs_of(self._tried(binding, slots))
        return not all(_alike(a, b) for a, b in zip(first, second))

    def _compile(self, arena):
        torch._dynamo.reset()
        self.run = torch.compile(self._plain)
        binding = Binding(self, arena.exact)
        try:
            result = binding.call([0] * len(arena.exact))
        except Exception as error:
            cause = of_user_code("torch.compile", error, self.subject.files)
            raise Failure(UNAVAILABLE, cause.message, "the eager baseline stands alone") from None
        binding.check(result)

    def text(self):
        names = self.subject.arena.input_names
        filled = ", ".join(names[i] for i in self.private if i in self.filled)
        apart = ", ".join(names[i] for i in self.private if i not in self.filled)
        return (f"torch {torch.__version__} {self.name}; TF32 "
                f"{_on(torch.backends.cuda.matmul.allow_tf32)} in matmul, "
                f"{_on(torch.backends.cudnn.allow_tf32)} in cuDNN"
                + (f"; written by the code, so copied before each call: {filled}" if filled else "")
                + (f"; written by the code, so kept apart: {apart}" if apart else ""))


def _bits(tensor):
    """As whole numbers, so that a NaN equals itself."""
    return tensor.detach().reshape(-1).view(torch.uint8)


def _alike(a, b):
    if not a.is_floating_point():
        return torch.equal(a, b)
    largest = float(a.abs().nan_to_num(0, 0, 0).max())
    return torch.allclose(a, b, rtol=1e-3, atol=1e-3 * largest, equal_nan=True)


def _on(allowed):
    return "on" if allowed else "off"
