"""torch.compile takes the GEMM library's kernels.

    model = torch.compile(model, options=warpsmith.inductor.options())

replaces aten.mm and aten.addmm of float16 and bfloat16 where the library has a kernel for the shape
that was faster than cuBLASLt. `autotune()` instead lets Inductor measure both on your machine: for
torch.ops.warpsmith.matmul, and so for what the pass replaced.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files

from . import _library, _operator

_aten = torch.ops.aten


def _fake(node) -> torch.Tensor | None:
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return value if isinstance(value, torch.Tensor) else None


def _problem(a: torch.Tensor, b: torch.Tensor):
    """The library's problem of two operands, or None: symbolic sizes, strides that need copies."""
    numbers = [*a.shape, *a.stride(), *b.shape, *b.stride()]
    if not all(isinstance(one, int) for one in numbers) or 0 in (*a.shape, *b.shape):
        return None
    stored = [_library.storage(one.shape, one.stride()) for one in (a, b)]
    if None in stored:
        return None
    return _library.problem(a.shape[0], b.shape[1], a.shape[1], stored[0][1], stored[1][1],
                            b.shape[1], stored[0][0], stored[1][0], _operator._DTYPES[a.dtype])  # fmt: skip


def _has_kernel(a: torch.Tensor, problem) -> bool:
    """Whether the library runs a kernel of its own for it, with the workspace that it asks for."""
    reference = ctypes.byref(problem)

    def ask(library):
        return library.explain(reference, library.workspace(reference))

    # "M x N x K ...: NAME, workspace ..."
    return not _operator._on_device(a, ask).partition(": ")[2].startswith("cuBLASLt")


class MatmulPass(CustomGraphPass):
    """A pass over Inductor's graph; `only_kernels=False` also gives the library what it has no
    kernel for, which it passes on to cuBLASLt.

    `replaced` and `kept` count the products of float16 and bfloat16 that the pass has seen; a graph
    that comes out of Inductor's cache is not seen again. addmm becomes a product that is rounded, and a sum, which Inductor fuses with what follows.
    """

    def __init__(self, only_kernels: bool = True):
        self.only_kernels = only_kernels
        self.replaced = self.kept = 0

    def __call__(self, graph: torch.fx.Graph) -> None:
        for node in list(graph.nodes):
            if node.op != "call_function":
                continue
            if node.target is _aten.mm.default:
                bias, operands = None, node.args[:2]
            elif node.target is _aten.addmm.default and set(node.kwargs.values()) <= {1}:
                bias, operands = node.args[0], node.args[1:3]
            else:
                continue
            a, b = (_fake(one) for one in operands)
            if a is None or b is None or not self._takes(a, b):
                continue
            self._replace(graph, node, bias, operands)

    def _takes(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        if a.device.type != _operator._DEVICE_TYPE or a.dtype not in _operator._DTYPES:
            return False
        problem = _problem(a, b) if a.dtype == b.dtype else None
        taken = problem is not None and (not self.only_kernels or _has_kernel(a, problem))
        self.replaced += int(taken)
        self.kept += int(not taken)
        return taken

    def _replace(self, graph, node, bias, operands: Sequence[torch.fx.Node]) -> None:
        with graph.inserting_before(node):
            new = graph.call_function(_operator._op.default, tuple(operands))
            new.meta["val"] = _operator._fake(*(_fake(one) for one in operands))
            if bias is not None:
                product, new = new, graph.call_function(_aten.add.Tensor, (new, bias))
                new.meta["val"] = node.meta["val"]
                product.meta.setdefault("val", node.meta["val"])
        node.replace_all_uses_with(new)
        graph.erase_node(node)

    def uuid(self) -> object:
        """Inductor's cache of compiled graphs is told what the choice depends on."""
        named = os.environ.get("WARPSMITH_GEMM_PACK")
        pack = Path(named) if named else _library.library_path().parent / "warpsmith/gemm.wspack"
        state = (pack.stat().st_size, pack.stat().st_mtime_ns) if pack.is_file() else None
        return (get_hash_for_files((__file__,)), _library.library_version(), str(pack), state,
                self.only_kernels)  # fmt: skip


def options(only_kernels: bool = True) -> dict[str, object]:
    """For torch.compile(model, options=...). Merge with your own by `|`."""
    return {"post_grad_custom_pre_pass": MatmulPass(only_kernels)}


def autotune() -> None:
    """From now on Inductor measures torch.ops.warpsmith.matmul beside what it has for aten.mm (cuBLAS
    and, with max_autotune, Triton), on operands of the call's shapes, and takes the fastest.

    torch 2.10 or newer. WarpsmithError where torch has no autotuning of custom operators.
    """
    try:
        from torch._inductor.kernel.custom_op import (
            CustomOpConfig,
            register_custom_op_autotuning,
        )
    except ImportError:
        raise _library.WarpsmithError(
            f"torch {torch.__version__} has no autotuning of custom operators; 2.10 has"
        ) from None

    def aten_mm(a, b):
        return _aten.mm.default(a, b)

    from torch._inductor.lowering import user_lowerings

    register_custom_op_autotuning(_operator._op.default, configs=[CustomOpConfig(aten_mm)])
    registered = user_lowerings[_operator._op.default]

    def with_operands_in_memory(a, b):
        # What Inductor would still compute lazily cannot be an operand of a choice.
        for one in (a, b):
            one.realize()
        return registered(a, b)

    user_lowerings[_operator._op.default] = with_operands_in_memory
