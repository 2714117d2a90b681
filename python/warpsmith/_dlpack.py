"""The product of matrices of any framework that has DLPack, through apache-tvm-ffi: no torch.

Also a function of TVM FFI's registry, "warpsmith.matmul".
"""

from __future__ import annotations

import ctypes
import functools

import tvm_ffi

from . import _library

_DTYPES = {"float16": _library.F16, "bfloat16": _library.BF16}
_DEVICE = "cuda"


@functools.cache
def _library_of(device):
    return _library.Library()


def _problem(a, b, out):
    for name, tensor in (("a", a), ("b", b), ("out", out)):
        if len(tensor.shape) != 2:
            raise ValueError(f"warpsmith.matmul: {name} has {len(tensor.shape)} dimensions, not 2")
        if str(tensor.dtype) not in _DTYPES or tensor.dtype != a.dtype:
            raise TypeError(f"warpsmith.matmul: {name} is of {tensor.dtype}; expected float16 or "
                            "bfloat16, the same for all")  # fmt: skip
        if tensor.device != a.device or _DEVICE not in str(tensor.device):
            raise ValueError(f"warpsmith.matmul: {name} is on {tensor.device}, expected one NVIDIA "
                             "GPU for all")  # fmt: skip
    (m, k), (rows, n) = a.shape, b.shape
    if rows != k or tuple(out.shape) != (m, n):
        raise ValueError(f"warpsmith.matmul: {tuple(a.shape)} times {tuple(b.shape)} is not "
                         f"{tuple(out.shape)}")  # fmt: skip
    stored = [_library.storage(tensor.shape, tensor.strides) for tensor in (a, b, out)]
    if None in stored or stored[2][0] != 0:
        raise ValueError("warpsmith.matmul: rows or columns of a and b, and rows of out, must lie "
                         "densely")  # fmt: skip
    return _library.problem(m, n, k, stored[0][1], stored[1][1], stored[2][1], stored[0][0],
                            stored[1][0], _DTYPES[str(a.dtype)])  # fmt: skip


def _taken(tensor):
    return tensor if isinstance(tensor, tvm_ffi.Tensor) else tvm_ffi.from_dlpack(tensor)


def matmul(a, b, out) -> None:
    """out = a @ b, with FP32 sums. a: (m, k), b: (k, n), out: (m, n), float16 or bfloat16.

    Tensors of one CUDA device, whose context must be current, from any framework with DLPack. Work
    goes to the stream that is current for TVM FFI (`tvm_ffi.use_torch_stream()`); no workspace is
    used, so products that are faster with one run more slowly than by warpsmith.matmul.
    """
    a, b, out = _taken(a), _taken(b), _taken(out)
    wanted = _problem(a, b, out)
    stream = tvm_ffi.get_raw_stream(a.device) if _DEVICE == "cuda" else 0
    _library_of(str(a.device)).run(ctypes.byref(wanted), a.data_ptr(), b.data_ptr(),
                                   out.data_ptr(), 0, 0, stream)  # fmt: skip


def explain(a, b, out) -> str:
    """Which kernel matmul(a, b, out) runs, and why."""
    a, b, out = _taken(a), _taken(b), _taken(out)
    return _library_of(str(a.device)).explain(ctypes.byref(_problem(a, b, out)), 0)


tvm_ffi.register_global_func("warpsmith.matmul", matmul, override=True)
