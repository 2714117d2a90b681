"""Running one task's reference on tensors of this process, for compose.py and parts_process.py."""
import ctypes

import torch
from warpsmith_peer.arena import DTYPES, Arena
from warpsmith_peer.expected import compute_expected, draw_inputs
from warpsmith_peer.failures import BAD_INPUT, Failure
from warpsmith_peer.memory import HostMemory
from warpsmith_peer.subject import load_subject

_MEMORY = HostMemory()
_CHUNK_BYTES = 256 << 20


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


def names_of(task, role):
    return [tensor["name"] for tensor in task["tensors"] if tensor["role"] == role]


def dtype_of(spec, exact):
    """What is exact is not rounded to the type that it is passed on in."""
    dtype = DTYPES[spec["dtype"]]
    return torch.float64 if exact and dtype.is_floating_point else dtype


def zeros(spec, exact):
    return torch.zeros(spec["extents"], dtype=dtype_of(spec, exact))


def run(task, names, specs, sizes, values, exact):
    """Puts the task's outputs into `values`; `names`: what its tensors are called there."""
    outputs = names_of(task, "output")
    for name in outputs:
        values[names[name]] = zeros(specs[names[name]], True)
    arena = _HeldArena(task, sizes, {own: values[name] for own, name in names.items()})
    compute_expected(load_subject(arena, _MEMORY.device), arena, _MEMORY)
    for name in outputs:
        spec = specs[names[name]]
        values[names[name]] = values[names[name]].to(dtype_of(spec, exact))


def draw_from_reference(task, specs, sizes, values, seed):
    """Fills the inputs among `values`, whose generator is the reference."""
    outputs = {name: zeros(specs[name], True) for name in names_of(task, "output")}
    arena = _HeldArena(task, sizes, {**values, **outputs})
    draw_inputs(load_subject(arena, _MEMORY.device), arena, seed)


def send_tensor(connection, tensor):
    tensor = tensor.contiguous()
    end = tensor.numel() * tensor.element_size()
    for begin in range(0, end, _CHUNK_BYTES):
        size = min(_CHUNK_BYTES, end - begin)
        connection.send({}, ctypes.string_at(tensor.data_ptr() + begin, size))


def receive_tensor(connection, spec, exact):
    """Of the size and type that we know; whoever sends cannot make it another one."""
    tensor = zeros(spec, exact)
    data, at = tensor.reshape(-1).view(torch.uint8), 0
    while at < data.numel():
        payload = connection.receive().payload
        if not payload or at + len(payload) > data.numel():
            raise Failure(BAD_INPUT, "a tensor of another size came back")
        data[at:at + len(payload)] = torch.frombuffer(bytearray(payload), dtype=torch.uint8)
        at += len(payload)
    return tensor
