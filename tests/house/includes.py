"""Holds every #include to the arrows in cmake/modules.txt: includes.py ROOT

ROOT is a checkout. A module is a folder of src/, or a folder in one (judge/baseline); a file
belongs to the module that is the longest beginning of its path. The rules:

  - a file of a module includes files of that module and of modules it reaches through arrows, only
  - a quoted include names an existing file relative to src/; device sources, and what lies outside
    src/, may name a file beside them, and tests one of the program's (tools/warpsmith)
  - headers of CUDA are included on the host by the module cuda only, in device sources by nobody
  - a .cc file that has a header of its own includes it first
  - an arrow is used: a file of the module that is no test includes one of the module it points to

Every breach is one line "file:line: text" on stdout, and the exit status is then 1. A modules.txt
that cannot be read as such is one line on stderr, and the exit status is 2.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MODULE_LINE = re.compile(r"([a-z_]+(?:/[a-z_]+)?):((?:\s+[a-z_]+(?:/[a-z_]+)?)*)\s*")
CUDA_HEADER = re.compile(r"cuda|cublas|nvrtc|cupti|nvml|cute/|cutlass/|mma\.h|driver_types")
INCLUDE = re.compile(r"\s*#\s*include\s*(?:\"([^\"]+)\"|<([^>]+)>)")
RAW_STRING_BEGIN = re.compile(r"R\"[a-z_]*\(")
RAW_STRING = re.compile(r"R\"[a-z_]*\(.*\)[a-z_]*\"")
RAW_STRING_END = re.compile(r"\)[a-z_]*\"")

SOURCES = {
    "src": (".h", ".cc", ".cuh", ".cu"),
    "tools": (".h", ".cc"),
    "tests": (".h", ".cc"),
    "bench": (".cc",),
}
# The fixture breaks the rules on purpose. The other two are carried in the program and built on the
# user's machine: beside torch, or for a reproduction.
EXEMPT = re.compile(
    r"tests/house/broken_includes/"
    r"|src/(?:.*/)?(?:torch/warpsmith_driver|reproduce/script)/"
)


class BadModules(Exception):
    """What is wrong with modules.txt, in one line that names the file."""


@dataclass
class Module:
    """One line of modules.txt. `reach` holds what the arrows lead to, at any distance."""

    line_number: int
    arrows: list[str]
    reach: set[str]
    used: set[str] = field(default_factory=set)  # the other modules that its files include
    tested: set[str] = field(default_factory=set)  # the same of its *_test.cc files


def read_modules(path: Path) -> dict[str, Module]:
    """The modules by name, in the order of the file, which is the order of building."""
    modules: dict[str, Module] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = MODULE_LINE.fullmatch(line)
        if not match:
            raise BadModules(f"{path}:{number}: expected 'module: module ...', found '{line}'")
        name, arrows = match[1], match[2].split()
        if name in modules:
            raise BadModules(f"{path}:{number}: '{name}' is there twice")
        for arrow in arrows:
            if arrow not in modules:
                where = f"{path}:{number}"
                raise BadModules(f"{where}: '{name}' names '{arrow}', which is not above it")
        reach = set(arrows).union(*(modules[arrow].reach for arrow in arrows))
        modules[name] = Module(number, arrows, reach)
    return modules


def includes_of(text: str) -> Iterator[tuple[int, str, bool]]:
    """Line number, name and whether quoted, of each #include outside of raw strings.

    A raw string of several lines holds somebody else's source, for example a kernel in a test.
    """
    in_raw_string = False
    for number, line in enumerate(text.split("\n"), 1):
        if in_raw_string:
            in_raw_string = not RAW_STRING_END.search(line)
        elif RAW_STRING_BEGIN.search(line) and not RAW_STRING.search(line):
            in_raw_string = True
        elif match := INCLUDE.match(line):
            yield number, match[1] or match[2], match[1] is not None


class Checker:
    """Collects the breaches of one checkout in `problems`."""

    def __init__(self, root: Path, modules: dict[str, Module]):
        self.root = root
        self.modules = modules
        self.top_folders = {name.split("/")[0] for name in modules}
        self.problems: list[str] = []

    def check_file(self, file: str) -> None:
        """Checks one file, which is named relative to the root."""
        module = self.module_of(file.removeprefix("src/")) if file.startswith("src/") else None
        if file.startswith("src/") and module is None:
            self.report(file, 1, f"folder {file.rpartition('/')[0]} is not in cmake/modules.txt")
        includes = list(includes_of((self.root / file).read_text(errors="replace")))
        for number, name, quoted in includes:
            if quoted:
                self.check_quoted(file, module, number, name)
            elif CUDA_HEADER.match(name) and (module != "cuda" or "/device/" in file):
                self.report(file, number, f"<{name}>: only host code in src/cuda may include CUDA")
        if includes:
            self.check_own_header_first(file, includes[0][1])

    def check_quoted(self, file: str, module: str | None, number: int, name: str) -> None:
        folder = file.rpartition("/")[0]
        if name.startswith("embedded/"):
            return  # warpsmith_embed generates it
        if name.split("/")[0] not in self.top_folders:
            if file.startswith("tests/") and (self.root / "tools/warpsmith" / name).exists():
                return  # the commands, as a library
            may_be_beside = not file.startswith("src/") or folder.endswith("/device")
            if not (may_be_beside and (self.root / folder / name).exists()):
                self.report(
                    file, number, f'"{name}" is not relative to src/, write "<folder>/<file>"'
                )
        elif not (self.root / "src" / name).exists():
            self.report(file, number, f'"{name}" does not exist under src/')
        elif module is not None:
            self.check_arrow(file, module, number, name)

    def check_arrow(self, file: str, module: str, number: int, name: str) -> None:
        """Checks that `module` may include the existing file `name`, and books the use."""
        target = self.module_of(name)
        if target is None or target == module:
            return  # a file of no module is a breach of its own
        source = self.modules[module]
        (source.tested if file.endswith("_test.cc") else source.used).add(target)
        if target not in source.reach:
            arrows = " ".join(source.arrows)
            self.report(
                file,
                number,
                f"{module} may not include {target} (cmake/modules.txt allows {module}: {arrows})",
            )

    def check_own_header_first(self, file: str, first: str) -> None:
        own_header = file.removeprefix("src/").removesuffix(".cc") + ".h"
        if not (file.startswith("src/") and file.endswith(".cc")) or first == own_header:
            return
        if (self.root / "src" / own_header).exists():
            self.report(
                file,
                1,
                f'the first #include must be "{own_header}", so that the header stands alone',
            )

    def check_arrows_used(self) -> None:
        """Reports arrows that no include uses, and what is reached through them alone."""
        for name, module in self.modules.items():
            for arrow in module.arrows:
                if arrow in module.used:
                    continue
                others = [other for other in module.arrows if other != arrow]
                reach = set(others).union(*(self.modules[other].reach for other in others))
                by = "tests only" if arrow in module.tested else "no include"
                text = f"{name}: arrow to {arrow} is used by {by}"
                used = module.used | module.tested
                if through := sorted(used & self.modules[arrow].reach - reach):
                    text += f" (write {' '.join(through)}, which {name} reaches through it)"
                self.report("cmake/modules.txt", module.line_number, text)

    def module_of(self, path: str) -> str | None:
        """The module of a file that is named relative to src/, or None."""
        segments = path.split("/")[:-1]
        for length in (2, 1):
            if (name := "/".join(segments[:length])) in self.modules:
                return name
        return None

    def report(self, file: str, number: int, text: str) -> None:
        self.problems.append(f"{file}:{number}: {text}")


def source_files(root: Path) -> Iterator[str]:
    for top, endings in SOURCES.items():
        for path in sorted((root / top).rglob("*")):
            file = path.relative_to(root).as_posix()
            if path.suffix in endings and path.is_file() and not EXEMPT.match(file):
                yield file


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: includes.py ROOT", file=sys.stderr)
        return 2
    root = Path(arguments[0])
    try:
        checker = Checker(root, read_modules(root / "cmake/modules.txt"))
    except (BadModules, OSError) as error:
        print(f"includes.py: {error}", file=sys.stderr)
        return 2
    files = list(source_files(root))
    for file in files:
        checker.check_file(file)
    checker.check_arrows_used()
    if checker.problems:
        print(*checker.problems, sep="\n")
        count = len(checker.problems)
        print(f"{count} breaches of the rules at the top of tests/house/includes.py")
        return 1
    print(f"{len(files)} files keep to cmake/modules.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
