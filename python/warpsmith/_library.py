"""The C ABI of libwarpsmith_gemm (include/warpsmith/gemm.h) through ctypes. Knows nothing of torch."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

_SONAME = "libwarpsmith_gemm.so.1"
F16, BF16 = 0, 1


class WarpsmithError(RuntimeError):
    """A refusal of the library: its status in words, and why."""


class _Options(ctypes.Structure):
    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("pack", ctypes.c_char_p),
        ("check_pointers", ctypes.c_int),
    ]


class Problem(ctypes.Structure):
    """warpsmith_gemm_problem. Leading dimensions in elements."""

    _fields_ = [
        ("struct_bytes", ctypes.c_size_t),
        ("m", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("k", ctypes.c_int64),
        ("lda", ctypes.c_int64),
        ("ldb", ctypes.c_int64),
        ("ldc", ctypes.c_int64),
        ("transpose_a", ctypes.c_int),
        ("transpose_b", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("alpha", ctypes.c_float),
        ("beta", ctypes.c_float),
    ]


def problem(m, n, k, lda=0, ldb=0, ldc=0, transpose_a=0, transpose_b=0, dtype=F16, alpha=1, beta=0):
    return Problem(
        ctypes.sizeof(Problem), m, n, k, lda, ldb, ldc, transpose_a, transpose_b, dtype, alpha, beta
    )


def storage(shape, strides):
    """(transposed, leading dimension) of a matrix that can be taken as it lies, or None."""
    (rows, columns), (down, across) = shape, strides
    if across == 1 or columns <= 1:
        if down >= columns or rows <= 1:
            return 0, max(down, columns) if rows > 1 else columns
    if down == 1 or rows <= 1:
        if across >= rows or columns <= 1:
            return 1, max(across, rows) if columns > 1 else rows
    return None


def _candidates():
    named = os.environ.get("WARPSMITH_GEMM_LIBRARY")
    if named:
        return [named]
    return [str(Path(__file__).parent / "lib" / _SONAME), _SONAME]


def _declare(api):
    pointer, size, status = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    # Declared, so that addresses can be given as plain integers.
    api.warpsmith_gemm_run.argtypes = [
        pointer, ctypes.POINTER(Problem), pointer, pointer, pointer, pointer, size, pointer
    ]  # fmt: skip
    api.warpsmith_gemm_run.restype = status
    api.warpsmith_gemm_create.argtypes = [ctypes.POINTER(_Options), ctypes.POINTER(pointer)]
    api.warpsmith_gemm_create.restype = status
    api.warpsmith_gemm_destroy.argtypes = [pointer]
    api.warpsmith_gemm_destroy.restype = None
    api.warpsmith_gemm_workspace.argtypes = [
        pointer, ctypes.POINTER(Problem), ctypes.POINTER(size)
    ]  # fmt: skip
    api.warpsmith_gemm_workspace.restype = status
    api.warpsmith_gemm_explain.argtypes = [
        pointer, ctypes.POINTER(Problem), size, ctypes.c_char_p, size
    ]  # fmt: skip
    api.warpsmith_gemm_explain.restype = status
    api.warpsmith_gemm_status_text.argtypes = [status]
    for function in ("status_text", "last_error", "version"):
        getattr(api, "warpsmith_gemm_" + function).restype = ctypes.c_char_p
    return api


@functools.cache
def api():
    """The shared library, opened once. WarpsmithError when it is not there."""
    reasons = []
    for candidate in _candidates():
        try:
            return _declare(ctypes.CDLL(candidate))
        except OSError as error:
            reasons.append(str(error))
    raise WarpsmithError(
        f"could not open {_SONAME}: {'; '.join(reasons)}; install the wheel that carries it, or "
        "name the file in WARPSMITH_GEMM_LIBRARY"
    )


def library_path() -> Path:
    """The shared library that the wheel carries, to link with; include_folder() is its header's."""
    return Path(__file__).parent / "lib" / _SONAME


def include_folder() -> Path:
    """#include <warpsmith/gemm.h> is found here."""
    return Path(__file__).parent / "include"


def library_version() -> str:
    return api().warpsmith_gemm_version().decode()


def check(status: int) -> None:
    if status != 0:
        words = api().warpsmith_gemm_status_text(status).decode()
        raise WarpsmithError(f"{words}: {api().warpsmith_gemm_last_error().decode()}")


class Library:
    """A library in the CUDA context that is current now. Stays as long as the process does."""

    def __init__(self):
        options = _Options(ctypes.sizeof(_Options), None, 0)
        self._handle = ctypes.c_void_p()
        check(api().warpsmith_gemm_create(ctypes.byref(options), ctypes.byref(self._handle)))
        self._run = api().warpsmith_gemm_run

    def run(self, wanted, a, b, c, workspace, workspace_bytes, stream):
        """Addresses and the stream are integers; `wanted` is a reference to a Problem."""
        status = self._run(self._handle, wanted, a, b, c, workspace, workspace_bytes, stream)
        if status != 0:
            check(status)

    def workspace(self, wanted) -> int:
        size = ctypes.c_size_t()
        check(api().warpsmith_gemm_workspace(self._handle, wanted, ctypes.byref(size)))
        return size.value

    def explain(self, wanted, workspace_bytes: int) -> str:
        text = ctypes.create_string_buffer(4096)
        check(api().warpsmith_gemm_explain(self._handle, wanted, workspace_bytes, text, len(text)))
        return text.value.decode(errors="replace")
