"""Hugging Face's kernels: the GEMM library as a kernel repository, which `kernels` loads.

Two build variants: `torch-cuda` (the operator, for any torch from 2.4) and one for apache-tvm-ffi
(any framework with DLPack). Both carry the library and its pack as data beside Python.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
from pathlib import Path

from warpsmith._program import BadInput
from warpsmith.formats import files

NAME = "warpsmith-gemm"
PACK_MAGIC = b"warpsmith gemm pack, version "
_ROOT = Path(__file__).resolve().parent.parent

_MODULES = {
    "torch": ("_library.py", "_operator.py", "_dlpack.py"),
    "tvm-ffi": ("_library.py", "_dlpack.py"),
}
_INIT = {
    "torch": '"""C = A B by the kernels that were measured to be fastest."""\n\n'
    "from ._library import WarpsmithError\n\n"
    "try:\n    from ._operator import explain, matmul\nexcept ModuleNotFoundError:  # no torch here\n"
    "    from ._dlpack import explain, matmul\n\n"
    '__all__ = ["WarpsmithError", "explain", "matmul"]\n',
    "tvm-ffi": '"""C = A B by the kernels that were measured to be fastest, for any framework."""\n\n'
    "from ._dlpack import explain, matmul\nfrom ._library import WarpsmithError\n\n"
    '__all__ = ["WarpsmithError", "explain", "matmul"]\n',
}
_CARD = """---
library_name: kernels
license: apache-2.0
---

FP16 and BF16 matrix products on NVIDIA Hopper (sm_90a), by kernels that were measured to be fastest;
cuBLASLt where that was faster, or where the pack has no kernel. Made by warpsmith.

    gemm = kernels.get_kernel("OWNER/warpsmith-gemm", version={version})
    c = gemm.matmul(a, b)          # torch
    gemm.matmul(a, b, out)         # other frameworks, by apache-tvm-ffi
"""


def _variant(kind: str, binaries: dict[str, bytes], version: int) -> dict[str, bytes]:
    """The files of one variant, by their names in its folder."""
    contents = {name: (_ROOT / name).read_bytes() for name in _MODULES[kind]}
    contents["__init__.py"] = _INIT[kind].encode()
    contents.update(binaries)
    whole = hashlib.sha256()
    for name in sorted(contents):
        whole.update(name.encode() + b"\0" + hashlib.sha256(contents[name]).digest())
    digests = {name: base64.b64encode(hashlib.sha256(contents[name]).digest()).decode()
               for name in sorted(contents)}  # fmt: skip
    metadata = {
        # Unique to these contents: what torch.ops and sys.modules call it.
        "id": f"_warpsmith_gemm_cuda_{whole.hexdigest()[:12]}",
        "name": NAME,
        "version": version,
        "license": "Apache-2.0",
        "python-depends": ["tvm-ffi"] if kind == "tvm-ffi" else [],
        "backend": {"type": "cuda", "archs": ["9.0a"]},
        "digest": {"algorithm": "sha256", "files": digests},
    }
    return {**contents, "metadata.json": (json.dumps(metadata, indent=2) + "\n").encode()}


def export(library: str | Path, pack: str | Path, folder: str | Path, version: int = 1,
           tvm_ffi: str = "0.1", cuda: str = "13.0") -> list[str]:  # fmt: skip
    """Writes a kernel repository into a new folder; the names of its variants.

    `library`: libwarpsmith_gemm.so; `pack`: of `warpsmith hgemm build`. A variant for tvm-ffi names
    the version x.y of apache-tvm-ffi, and the CUDA version that its users have at least.
    """
    for text in (tvm_ffi, cuda):
        if not re.fullmatch(r"\d+\.\d+", text):
            raise files.bad("version", f"'{text[:32]}' is no version of the form 1.2")
    binaries = {"lib/libwarpsmith_gemm.so.1": files.read_bytes(library, "name it with --library"),
                "lib/warpsmith/gemm.wspack": files.read_bytes(pack, "name it with --pack")}  # fmt: skip
    if not binaries["lib/libwarpsmith_gemm.so.1"].startswith(b"\x7fELF"):
        raise files.bad(library, "is no shared library")
    if not binaries["lib/warpsmith/gemm.wspack"].startswith(PACK_MAGIC):
        raise files.bad(pack, "is no pack", "make one: 'warpsmith hgemm build'")
    platform_name = f"{platform.machine()}-{platform.system().lower()}"
    number = {name: value.replace(".", "") for name, value in (("ffi", tvm_ffi), ("cu", cuda))}
    variants = {"torch-cuda": "torch",
                f"tvm-ffi{number['ffi']}-cu{number['cu']}-{platform_name}": "tvm-ffi"}  # fmt: skip
    written: dict[str, str | bytes] = {"README.md": _CARD.format(version=version)}
    for name, kind in variants.items():
        for path, content in _variant(kind, binaries, version).items():
            written[f"build/{name}/{path}"] = content
    if version < 1:
        raise BadInput("bad-input", "versions begin with 1")
    files.write_folder(folder, written)
    return list(variants)
