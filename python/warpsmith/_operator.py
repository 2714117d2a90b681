"""The operator torch.ops.warpsmith.matmul: eager, fake, autograd; and the short way past the dispatcher."""

from __future__ import annotations

import ctypes
import threading

import torch

from . import _library

_DTYPES = {torch.float16: _library.F16, torch.bfloat16: _library.BF16}
_DEVICE_TYPE = "cuda"

_libraries: dict[int, _library.Library] = {}
_settled: dict[tuple, tuple] = {}  # what a call's tensors look like -> (problem, workspace bytes)
_MOST_SETTLED = 65536
_lock = threading.Lock()


def _check(a: torch.Tensor, b: torch.Tensor) -> None:
    """What must hold of any two operands, fake ones too."""
    for name, tensor in (("a", a), ("b", b)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"warpsmith.matmul: {name} is a {type(tensor).__name__}, no tensor")
        if tensor.dtype not in _DTYPES:
            raise TypeError(
                f"warpsmith.matmul: {name} is of {tensor.dtype}, expected torch.float16 or "
                "torch.bfloat16"
            )
    if a.dtype != b.dtype:
        raise TypeError(f"warpsmith.matmul: a is of {a.dtype}, b of {b.dtype}; both must be equal")
    if a.dim() != 2 or b.dim() != 2:
        raise ValueError(
            f"warpsmith.matmul: a has {a.dim()} dimensions and b {b.dim()}; expected a of at least "
            "two and b of two"
        )
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"warpsmith.matmul: a is {tuple(a.shape)} and b {tuple(b.shape)}; a's last extent must "
            "be b's first"
        )
    if a.device != b.device:
        raise ValueError(f"warpsmith.matmul: a is on {a.device}, b on {b.device}")


def _check_device(tensor: torch.Tensor) -> None:
    if tensor.device.type != _DEVICE_TYPE:
        raise ValueError(
            f"warpsmith.matmul: the tensors are on {tensor.device}, expected an NVIDIA GPU (cuda)"
        )


def _library_of(tensor: torch.Tensor) -> _library.Library:
    """Made when the device is met first; the device is the current one then."""
    device = tensor.get_device()
    library = _libraries.get(device)
    if library is None:
        with _lock:
            library = _libraries.get(device) or _library.Library()
            _libraries[device] = library
    return library


def _storage(tensor: torch.Tensor):
    """(transposed, leading dimension) of a matrix that can be taken as it lies, or None."""
    return _library.storage(tensor.shape, tensor.stride())


def _look_up(a, b, out=None):
    """(problem, workspace bytes) for operands of this kind; None: some of them need copies."""
    key = (
        a.get_device(), b.get_device(), a.dtype, b.dtype, a.shape, a.stride(), b.shape, b.stride(),
        None if out is None else out.stride(),
    )  # fmt: skip
    return _settled.get(key) or _settle(key, a, b, out)


def _settle(key, a, b, out):
    """What _look_up gives for operands that were not met before."""
    _check(a, b)
    _check_device(a)
    storage_a, storage_b = _storage(a), _storage(b)
    storage_c = (0, 0) if out is None else _storage(out)
    if storage_a is None or storage_b is None or storage_c is None or storage_c[0] != 0:
        return None
    problem = _library.problem(
        a.shape[0], b.shape[1], a.shape[1], storage_a[1], storage_b[1], storage_c[1],
        storage_a[0], storage_b[0], _DTYPES[a.dtype],
    )  # fmt: skip
    reference = ctypes.byref(problem)
    settled = (reference, _on_device(a, lambda library: library.workspace(reference)))
    if len(_settled) < _MOST_SETTLED:
        _settled[key] = settled
    return settled


def _stream(device: int) -> int:
    return torch._C._cuda_getCurrentRawStream(device) if _DEVICE_TYPE == "cuda" else 0


def _on_device(a, body, *arguments):
    """body(library, *arguments) with a's device, whose library it is, as the current one."""
    if _DEVICE_TYPE == "cuda" and a.get_device() != torch.cuda.current_device():
        with torch.cuda.device(a.device):
            return body(_library_of(a), *arguments)
    return body(_library_of(a), *arguments)


def _submit(library, settled, a, b, out) -> None:
    problem, workspace_bytes = settled
    workspace_address = 0
    if workspace_bytes > 0:  # in stream order: torch gives it to nobody else before we are done
        workspace = torch.empty(workspace_bytes + 255, dtype=torch.uint8, device=a.device)
        workspace_address = (workspace.data_ptr() + 255) & ~255
    library.run(
        problem, a.data_ptr(), b.data_ptr(), out.data_ptr(), workspace_address, workspace_bytes,
        _stream(a.get_device()),
    )  # fmt: skip


def _taken_as_it_lies(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if _storage(tensor) is not None else tensor.contiguous()


def _eager(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    settled = _look_up(a, b)
    if settled is None:
        return _eager(_taken_as_it_lies(a), _taken_as_it_lies(b))
    out = a.new_empty((a.shape[0], b.shape[1]))
    _on_device(a, _submit, settled, a, b, out)
    return out


def _into(a, b, out) -> None:
    settled = _look_up(a, b, out)
    if settled is None:
        out.copy_(_eager(a, b))
    else:
        _on_device(a, _submit, settled, a, b, out)


def _backward(context, gradient):
    a, b = context.saved_tensors
    needs_a, needs_b = context.needs_input_grad
    return (
        _op(gradient, b.transpose(0, 1)) if needs_a else None,
        _op(a.transpose(0, 1), gradient) if needs_b else None,
    )


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


# "warpsmith", or the unique name under which a loader of kernels imported a copy of this package.
_NAMESPACE = (__package__ or "warpsmith").replace(".", "_")
_torch_library = torch.library.Library(_NAMESPACE, "DEF")
_torch_library.define("matmul(Tensor a, Tensor b) -> Tensor")
for _dispatch_key in ("CUDA", "CPU"):  # the CPU's says in words that it is the wrong place
    _torch_library.impl("matmul", _eager, _dispatch_key)


@torch.library.register_fake(f"{_NAMESPACE}::matmul")
def _fake(a, b):
    _check(a, b)
    return a.new_empty((a.shape[0], b.shape[1]))


torch.library.register_autograd(f"{_NAMESPACE}::matmul", _backward, setup_context=_save)

_op = getattr(torch.ops, _NAMESPACE).matmul

_modes = [
    getattr(torch._C, name, lambda: 1)
    for name in ("_len_torch_dispatch_stack", "_len_torch_function_stack")
]

_transform = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", lambda: None)


def _is_plain(a, b) -> bool:
    """Nobody watches the call: no gradient, no tracing, no subclass, no mode, no torch.func."""
    if type(a) is not torch.Tensor or type(b) is not torch.Tensor:
        return False
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return False
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        return False
    if _transform() is not None or any(length() != 0 for length in _modes):
        return False
    return a.device.type == _DEVICE_TYPE


def matmul(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """a @ b for float16 or bfloat16 tensors of one CUDA device, with FP32 sums.

    a: (..., m, k), any leading extents; b: (k, n). Rows or columns that lie densely are taken as
    they are, transposed or not; others are copied first. `out`: (..., m, n), written in place,
    without gradients. On the current stream; may be captured in a CUDA graph.
    """
    if isinstance(a, torch.Tensor) and a.dim() > 2:
        flat = None if out is None else out.view(-1, out.shape[-1])
        return matmul(a.reshape(-1, a.shape[-1]), b, out=flat).view(*a.shape[:-1], b.shape[-1])
    if out is None:
        return _eager(a, b) if _is_plain(a, b) else _op(a, b)
    _check(a, b)
    _check_device(a)
    if out.shape != (a.shape[0], b.shape[1]) or out.dtype != a.dtype or out.device != a.device:
        raise ValueError(
            f"warpsmith.matmul: out is {tuple(out.shape)} {out.dtype} on {out.device}, expected "
            f"{(a.shape[0], b.shape[1])} {a.dtype} on {a.device}"
        )
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad or out.requires_grad):
        raise ValueError("warpsmith.matmul: out= takes no gradients; use it under torch.no_grad()")
    _into(a, b, out)
    return out


def explain(a: torch.Tensor, b: torch.Tensor) -> str:
    """Which kernel matmul(a, b) runs, and why."""
    settled = _look_up(a, b)
    if settled is None:
        return "an operand is copied first, since neither its rows nor its columns lie densely"
    return _on_device(a, _library.Library.explain, *settled)
