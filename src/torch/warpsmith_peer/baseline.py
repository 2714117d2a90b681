"""Baselines: the task's PyTorch code as a user runs it, on tensors that lie in the oracle's slots.

A call takes its inputs where they lie: tensors are passed, and a module's parameters are made to
show the slot (`.data`), so nothing is copied. Tensors that the code writes to (running statistics,
in-place operations) are set aside as private copies, since the slots must stay as they are.
"""
import torch

from warpsmith_peer.expected import check_outputs, outputs_of, store
from warpsmith_peer.failures import UNAVAILABLE, Failure, of_user_code


class _Bound:
    """A parameter or buffer of the module, and the tensors it can show."""

    def __init__(self, member, index, place, table):
        self.member, self.index, self.place, self.table = member, index, place, table
        self.shown = None


class Binding:
    """The callee on one set of regions: slots, or the exact ones."""

    def __init__(self, callee, regions):
        self._callee = callee
        self.regions = regions
        self._inputs = [place for place, r in enumerate(regions) if r.role == "input"]
        self._outputs = [place for place, r in enumerate(regions) if r.role == "output"]
        self.tables = [regions[place].slots for place in self._inputs]
        for index in callee.written:
            self.tables[index] = [slot.clone() for slot in self.tables[index]]
        subject = callee.subject
        stateful = {index for _, index in subject.state}
        self._arguments = [(self.tables[index], place) for index, place in enumerate(self._inputs)
                           if index not in stateful]
        self._written_arguments = [i for i in callee.written if i not in stateful]
        self.state = [_Bound(subject.member(name), index, self._inputs[index], self.tables[index])
                      for name, index in subject.state]

    def bind(self, slots):
        """`slots`: one index per tensor of the task. Returns what the code is called with."""
        for bound in self.state:
            slot = slots[bound.place]
            if bound.shown != slot:
                bound.member.data = bound.table[slot]
                bound.shown = slot
        return self._callee.subject.arguments(
            [table[slots[place]] for table, place in self._arguments])

    def call(self, slots):
        return self._callee.run(*self.bind(slots))

    def rebind(self):
        """Another binding may have used the module since."""
        for bound in self.state:
            bound.shown = None
        for index in self._callee.written:
            for slot in range(len(self.tables[index])):
                self._restore(index, slot)

    def restore(self, slots):
        """Gives written inputs their contents back after a call."""
        for index in self._written_arguments:
            self._restore(index, slots[self._inputs[index]])

    def _restore(self, index, slot):
        self.tables[index][slot].copy_(self.regions[self._inputs[index]].slots[slot])

    def check(self, result):
        outputs = [self.regions[place] for place in self._outputs]
        check_outputs(self._callee.subject.entry, outputs_of(result), outputs, same_dtype=True)

    def store(self, result, slots):
        store(outputs_of(result),
              [self.regions[place].slots[slots[place]] for place in self._outputs])

    def output_slots(self, slots):
        return tuple(slots[place] for place in self._outputs)

    def output_bytes(self):
        return sum(self.regions[place].slots[0].nbytes for place in self._outputs)


class Callee:
    """Needs valid contents in the exact inputs: it is tried on them once."""

    def __init__(self, name, subject, arena):
        self.name, self.subject = name, subject
        self.written = []
        self.run = self._plain = self._function()
        with torch.no_grad():
            self.written = self._written_inputs(arena)
            if name == "compile":
                self._compile(arena)
        self.exact = Binding(self, arena.exact)
        self.slots = Binding(self, arena.regions) if arena.regions else None

    def _function(self):
        target, sizes = self.subject.target, self.subject.sizes
        return (lambda *tensors: target(*tensors, **sizes)) if sizes else target

    def _written_inputs(self, arena):
        """Runs once on copies; returns the inputs that the code wrote to. Version counters tell of
        writes that change nothing, contents of those that torch does not count (batch norm's)."""
        self.written = list(range(len(arena.exact_of("input"))))
        binding = Binding(self, arena.exact)
        first = [0] * len(arena.exact)
        binding.bind(first)
        watched = dict(enumerate(table[0] for table in binding.tables))
        watched.update({bound.index: bound.member for bound in binding.state})
        before = {index: tensor._version for index, tensor in watched.items()}
        with self.subject.running(f"running the {self.name} baseline"):
            result = binding.call(first)
        binding.check(result)
        return [index for index, tensor in watched.items()
                if tensor._version != before[index]
                or not torch.equal(_bits(tensor), _bits(arena.exact_of("input")[index].slots[0]))]

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
        aside = ", ".join(names[index] for index in self.written)
        return (f"torch {torch.__version__} {self.name}; TF32 "
                f"{_state(torch.backends.cuda.matmul.allow_tf32)} in matmul, "
                f"{_state(torch.backends.cudnn.allow_tf32)} in cuDNN"
                + (f"; written by the code, so copied: {aside}" if aside else ""))


def _bits(tensor):
    """As whole numbers, so that a NaN equals itself."""
    return tensor.detach().reshape(-1).view(torch.uint8)


def _state(allowed):
    return "on" if allowed else "off"
