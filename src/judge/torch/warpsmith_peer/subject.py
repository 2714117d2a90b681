"""What the task's PyTorch file defines, in one form: called with the task's inputs in order.

style "function": reference(<input tensors>, **sizes), and where it draws its own inputs
                  get_inputs(**sizes)
style "module":   class Model(nn.Module), get_inputs(), get_init_inputs(), as KernelBench writes
                  them. The task's inputs are the tensors of get_inputs(), then parameters and
                  buffers as "param:<name in state_dict>" (any other character than a letter,
                  digit or _ may be written as _). State that is no tensor of the task stays as
                  Model made it; inputs that are no tensors stay with Python.
"""
import inspect
import random
import re
import sys

import torch

from warpsmith_peer.failures import BAD_INPUT, Failure, user_code
from warpsmith_peer.sources import MemoryFiles

_MODULE_NAME = "warpsmith_reference"


def load_subject(arena, device):
    reference = arena.task["reference"]
    if reference["kind"] == "driver":
        from warpsmith_driver.subject import load_paired_module
        return load_paired_module(arena, device)
    if reference["kind"] != "torch":
        raise Failure(BAD_INPUT, f"the task's reference is \"{reference['kind']}\", not PyTorch",
                      "leave out the torch baselines, or give a reference of kind \"torch\"")
    options, files = reference.get("options", {}), reference.get("sources", {})
    entry, style = options.get("entry", ""), options.get("style", "function")
    if entry not in files:
        raise Failure(BAD_INPUT, f"the reference's entry \"{entry}\" is not among its sources "
                      f"({', '.join(sorted(files)) or 'none'})", "name one of them as entry")
    kinds = {"function": FunctionSubject, "module": ModuleSubject}
    if style not in kinds:
        raise Failure(BAD_INPUT, f"reference style \"{style}\" is not known",
                      "write \"function\" or \"module\"")
    return kinds[style](load_file(files, entry), entry, arena, device)


def load_file(files, entry):
    finder = MemoryFiles(files)
    _forget_previous()
    sys.meta_path.insert(0, finder)
    with user_code("loading the reference", files):
        return finder.load(entry, _MODULE_NAME)


def _forget_previous():
    """Another arena's files may have the same names."""
    for finder in [f for f in sys.meta_path if isinstance(f, MemoryFiles)]:
        if "warpsmith_peer/peer.py" in finder.files:
            continue
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if getattr(module, "__loader__", None) is finder:
                del sys.modules[name]


def seed_everything(seed):
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % (1 << 32))
    torch.manual_seed(seed)


class _Subject:
    def __init__(self, loaded, entry, arena, device):
        self.loaded, self.entry, self.arena, self.device = loaded, entry, arena, device
        self.files = arena.task["reference"]["sources"]

    def running(self, doing):
        return user_code(doing, self.files)

    def defined(self, name):
        if not hasattr(self.loaded, name):
            raise Failure(BAD_INPUT, f"{self.entry} defines no {name}", f"define {name} there")
        return getattr(self.loaded, name)

    def sizes_for(self, function):
        """The sizes that the function has parameters for."""
        parameters = inspect.signature(function).parameters.values()
        if any(p.kind == p.VAR_KEYWORD for p in parameters):
            return dict(self.arena.sizes)
        names = {p.name for p in parameters}
        return {name: size for name, size in self.arena.sizes.items() if name in names}

    def drawn(self, function, *arguments, **named):
        """The list that a get_inputs() returns."""
        with self.running(function.__name__ + "()"):
            values = function(*arguments, **named)
            if not isinstance(values, (list, tuple)):
                raise TypeError(f"it returned {type(values).__name__}, not a list")
            return list(values)


class FunctionSubject(_Subject):
    def __init__(self, loaded, entry, arena, device):
        super().__init__(loaded, entry, arena, device)
        self.function = self.defined("reference")
        with self.running("reference()"):
            self.sizes = self.sizes_for(self.function)

    state = ()
    target = property(lambda self: self.function)

    def arguments(self, inputs):
        return inputs

    def evaluate(self, inputs, floating):
        return self.function(*inputs, **self.sizes)

    def draw(self, seed):
        seed_everything(seed)
        get_inputs = self.defined("get_inputs")
        with torch.device(self.device):
            values = self.drawn(get_inputs, **self.sizes_for(get_inputs))
        return [value for value in values if isinstance(value, torch.Tensor)]


_TENSOR = object()  # the place of a tensor among get_inputs()' values


def _plain(name):
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


class ModuleSubject(_Subject):
    """`state`: (name in the module, index among the task's inputs) of what the task provides."""

    def __init__(self, loaded, entry, arena, device):
        super().__init__(loaded, entry, arena, device)
        self._get_inputs = self.defined("get_inputs")
        self._create(seed=0)
        self._arrange(self._inputs_shown())
        self._match_state()

    sizes = {}
    target = property(lambda self: self.module)

    def _create(self, seed):
        model = self.defined("Model")
        initial = getattr(self.loaded, "get_init_inputs", list)
        seed_everything(seed)
        with self.running("Model()"), torch.device(self.device):
            values = initial()
            self.module = model(**values) if isinstance(values, dict) else model(*values)
            self.module.to(self.device)

    def _inputs_shown(self):
        """get_inputs() where only the kinds of its values matter: without memory if it can."""
        try:
            with torch.device("meta"):
                return list(self._get_inputs())
        except Exception:
            with torch.device(self.device):
                return self.drawn(self._get_inputs)

    def _arrange(self, values):
        self._places = [_TENSOR if isinstance(v, torch.Tensor) else v for v in values]
        for place, value in enumerate(self._places):
            if isinstance(value, (list, tuple, dict)):
                raise Failure(BAD_INPUT, f"{self.entry}: get_inputs() returned a "
                              f"{type(value).__name__} at position {place}",
                              "return tensors and plain numbers there")
        self._tensors = sum(value is _TENSOR for value in self._places)

    def _match_state(self):
        names = self.arena.input_names
        if len(names) < self._tensors:
            raise Failure(BAD_INPUT, f"{self.entry}: get_inputs() returns {self._tensors} tensors, "
                          f"the task has {len(names)} inputs", "correct the task's tensors")
        left = [*self.module.named_parameters(remove_duplicate=False),
                *self.module.named_buffers(remove_duplicate=False)]
        first_names = {}  # of a tensor that has several names
        for own, tensor in left:
            first_names.setdefault(id(tensor), own)
        self.state = []
        for index, name in enumerate(names[self._tensors:], self._tensors):
            wanted = _plain(name.removeprefix("param:").removeprefix("param_"))
            found = next((pair for pair in left if _plain(pair[0]) == wanted), None)
            if found is None:
                raise Failure(BAD_INPUT, f"{self.entry}: the task's input {name} is no parameter "
                              "or buffer of Model, nor a tensor of get_inputs()",
                              "name it param:<its name in state_dict()>, or take it away")
            left = [pair for pair in left if pair[0] != found[0]]
            self.state.append((first_names[id(found[1])], index))

    def member(self, name):
        """The parameter or buffer itself."""
        owner, _, last = name.rpartition(".")
        return getattr(self.module.get_submodule(owner), last)

    def arguments(self, inputs):
        if self._tensors == len(self._places):
            return inputs[:self._tensors]
        tensors = iter(inputs)
        return [next(tensors) if place is _TENSOR else place for place in self._places]

    def evaluate(self, inputs, floating):
        """With `floating`, the state that the task does not provide is cast as well."""
        own = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        state = {name: cast(value, floating, copy=True) for name, value in own.items()}
        state.update({name: inputs[index] for name, index in self.state})
        return torch.func.functional_call(self.module, state, tuple(self.arguments(inputs)))

    def draw(self, seed):
        self._create(seed)
        with torch.device(self.device):
            values = self.drawn(self._get_inputs)
        self._arrange(values)
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        return tensors + [self.member(name).detach() for name, _ in self.state]


def cast(tensor, floating, copy=False):
    """In the type `floating` where it is a floating tensor; None leaves types alone."""
    wanted = floating if floating is not None and tensor.is_floating_point() else tensor.dtype
    return tensor.detach().to(wanted, copy=copy)
