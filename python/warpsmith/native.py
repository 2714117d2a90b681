"""The operator in C++: python -m warpsmith.native [-o FILE] compiles it with c++ for this torch.

For processes in which this package is not imported: a program that runs a model of AOTInductor opens
it first (dlopen, or torch.ops.load_library). Its stable ABI serves torch 2.10 and newer. By default it
is written beside libwarpsmith_gemm, which it opens; a library elsewhere is named by
WARPSMITH_GEMM_LIBRARY. In Python it is not faster than the package, which therefore does not use it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from warpsmith._library import WarpsmithError, include_folder, library_path

_HERE = Path(__file__).parent


def operator_path() -> Path:
    return library_path().parent / "libwarpsmith_operator.so"


def command(output: Path, device: str = "CUDA") -> list[str]:
    try:
        import torch
    except ModuleNotFoundError:
        raise WarpsmithError(f"{sys.executable} has no torch (2.10 or newer)") from None

    root = Path(torch.__file__).parent
    headers = [include_folder(), _HERE.parents[1] / "include", _HERE.parents[3] / "include"]
    of_cuda = ["-DUSE_CUDA"] if device == "CUDA" else [f"-DWARPSMITH_DEVICE={device}"]
    return [
        os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
        "-DTORCH_TARGET_VERSION=0x020a000000000000ULL", *of_cuda, *(f"-I{one}" for one in headers),
        "-isystem", str(root / "include"), str(_HERE / "native.cc"), "-o", str(output),
        f"-L{root / 'lib'}", "-Wl,--no-as-needed", "-ltorch", "-lstdc++", "-ldl",
    ]  # fmt: skip


def build(output: str | Path | None = None, device: str = "CUDA") -> Path:
    """Compiles the operator into `output`, which is whole or not there."""
    target = Path(output) if output else operator_path()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        part = Path(folder) / target.name
        done = subprocess.run(command(part, device), capture_output=True, text=True)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr]
            raise WarpsmithError(f"the operator does not compile with this torch: {lines[0].strip()}; "
                                 "it needs torch 2.10 or newer and g++ 12 or newer")  # fmt: skip
        part.rename(target)
    return target


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m warpsmith.native", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="default: beside libwarpsmith_gemm")
    try:
        print(build(parser.parse_args().output))
    except (OSError, WarpsmithError) as error:
        print(f"warpsmith.native: {error}", file=sys.stderr)
        return 69
    return 0


if __name__ == "__main__":
    sys.exit(main())
