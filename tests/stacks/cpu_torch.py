"""Makes torch's CUDA build work on a CPU without the CUDA libraries that it is linked to.

    VENV/bin/python cpu_torch.py     # after pip install --no-deps torch nvidia-cuda-runtime nvidia-cuda-cupti

PyPI has no CPU build of torch for Linux, and the CUDA libraries are 3 GB that a CPU run never calls.
Each missing library becomes an empty one whose functions stop the process; torch's own code is
untouched. The packages they would come from count as installed, so that pip does not fetch them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

SYSTEM = re.compile(r"@+(GLIBC|GCC|CXXABI|GOMP|OMP)|^_ITM_|^__gmon_start__|^__cxa_finalize")
ABSENT = re.compile(r"(cuda-toolkit|cuda-bindings|nvidia-[\w-]+|triton)\S*?[=>]=([\d.]+)|(triton)~=([\d.]+)")


def lines_of(*command: str | Path) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def symbols(library: Path, kind: str) -> set[str]:
    """Weak ones may be missing."""
    found = (line.split()[-2:] for line in lines_of("nm", "-D", f"--{kind}-only", library))
    return {name for letter, name in found if kind == "defined" or letter == "U"}


def make_libraries(site: Path) -> None:
    libraries = sorted((site / "torch/lib").glob("*.so"))
    there = libraries + sorted((site / "nvidia").rglob("*.so.*"))
    names = {path.name for path in there}
    wanted = {found[1] for path in libraries for line in lines_of("readelf", "-d", path)
              if (found := re.search(r"NEEDED.*\[(lib(?:cu|nv|nccl).*)\]", line))}  # fmt: skip
    defined = {name.split("@")[0] for path in there for name in symbols(path, "defined")}
    undefined = {name for path in libraries for name in symbols(path, "undefined")
                 if not SYSTEM.search(name) and name.split("@")[0] not in defined}  # fmt: skip
    text = "".join(f".globl {name}\n.type {name},@function\n{name}:\n"
                   for name in sorted({name.split("@")[0] for name in undefined}))  # fmt: skip
    text += '\tud2\n.section .note.GNU-stack,"",@progbits\n'
    versions: dict[str, str] = {}
    for name, version in (name.split("@", 1) for name in sorted(undefined) if "@" in name):
        versions[version.strip("@")] = versions.get(version.strip("@"), "") + f"{name}; "
    script = site / "torch/lib/absent.map"
    script.write_text("".join(f"{one} {{ global: {own}}};\n" for one, own in versions.items()))
    for soname in sorted(wanted - names - {"libcuda.so.1"}):  # which torch opens with a driver only
        subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}",
                        f"-Wl,--version-script={script}", "-x", "assembler", "-", "-o",
                        site / "torch/lib" / soname], input=text, text=True, check=True)  # fmt: skip


def count_as_installed(site: Path) -> None:
    for needed in distribution("torch").requires or []:
        if found := ABSENT.match(needed):
            name, version = found[1] or found[3], found[2] or found[4]
            folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
            folder.mkdir(exist_ok=True)
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


if __name__ == "__main__":
    site = Path(str(distribution("torch").locate_file("")))
    make_libraries(site)
    count_as_installed(site)
    sys.exit(0)
