"""Cuts a CUDA file into units that compile alone, and compiles them. Nothing is ever run."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_UNIT_BYTES = 16_000  # a file up to here is one unit
MOST_DEPTH = 200  # of nested namespaces and conditions; what is deeper stays in one piece
_WORD = re.compile(r"[A-Za-z_]\w*")
_WRAPPERS = ("namespace_definition", "linkage_specification", "preproc_ifdef", "preproc_if")
_NAMED = ("function_definition", "declaration", "struct_specifier", "class_specifier",
          "enum_specifier", "union_specifier", "alias_declaration", "type_definition",
          "template_declaration", "namespace_alias_definition", "preproc_def",
          "preproc_function_def", "using_declaration", "concept_definition")  # fmt: skip


@dataclass
class Piece:
    """A declaration at the outermost level of a file or of a namespace."""

    text: str
    around: tuple[tuple[str, str], ...]  # of each namespace around it: its first and its last line
    names: set[str]
    is_function: bool
    is_kernel: bool
    is_needed: bool = False  # whatever else is taken: includes and conditions
    words: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.words = set(_WORD.findall(self.text))


def _parser() -> Any:
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def _declared(node: Any, source: bytes) -> set[str]:
    """Names that a declaration introduces: those in its declarators, and its own."""
    names: set[str] = set()
    waiting = [(node, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > 12:
            continue
        for kind in ("name", "declarator"):
            for child in one.children_by_field_name(kind):
                words = _WORD.findall(source[child.start_byte : child.end_byte].decode())
                if child.type.endswith("identifier"):
                    names.update(words)
                else:
                    waiting.append((child, depth + 1))
        waiting += [(child, depth + 1) for child in one.named_children if child.type in _NAMED]
        waiting += [(child, depth + 1) for child in one.children if child.type == "enumerator_list"]
        waiting += [(child, depth + 1) for child in one.children if child.type == "enumerator"]
    return names


def _children(node: Any) -> list[Any]:
    """What stands in a namespace, an extern "C" or a condition, without its head."""
    body = node.child_by_field_name("body")
    if body is not None:
        return list(body.named_children) if body.type == "declaration_list" else [body]
    head = {node.child_by_field_name("name"), node.child_by_field_name("condition")}
    return [child for child in node.named_children if child not in head]


def _pieces(
    node: Any, source: bytes, around: tuple[tuple[str, str], ...], is_guard: bool
) -> Iterator[Piece]:
    comment = ""
    for child in node if isinstance(node, list) else node.named_children:
        text = source[child.start_byte : child.end_byte].decode()
        if child.type == "comment":
            comment += text + "\n"
            continue
        has_body = child.child_by_field_name("body") is not None
        if child.type == "namespace_definition" and has_body and len(around) < MOST_DEPTH:
            head = text.split("{", 1)[0] + "{"
            yield from _pieces(_children(child), source, (*around, (head, "}")), False)
        elif is_guard and child.type == "preproc_ifdef" and text.startswith("#ifndef"):
            yield from _pieces(_children(child), source, around, False)  # an include guard
        elif child.type == "linkage_specification" and "{" in text.split("(", 1)[0]:
            yield from _pieces(_children(child), source, (*around, ('extern "C" {', "}")), False)
        elif text.strip() and text != ";":
            is_function = child.type == "function_definition" or (
                child.type in ("template_declaration", "linkage_specification")
                and any(one.type == "function_definition" for one in child.named_children)
            )
            is_condition = child.type in ("preproc_if", "preproc_ifdef", "preproc_call")
            is_using = child.type == "using_declaration" or text.startswith("using namespace")
            # What ends in a semicolon ends without it in the tree.
            text += ";" if child.type.endswith("_specifier") else ""
            yield Piece(comment + text, around, _declared(child, source), is_function,
                        is_function and "__global__" in text.split("{", 1)[0],
                        child.type == "preproc_include" or is_condition or is_using)  # fmt: skip
        comment = ""


def _joined(pieces: Iterable[Piece]) -> str:
    """The pieces in their order, each in its namespaces."""
    text = ""
    open_now: tuple[tuple[str, str], ...] = ()
    for piece in pieces:
        if piece.around != open_now:
            text += "".join(f"{end}\n" for _, end in reversed(open_now))
            text += "\n" if text else ""
            text += "".join(f"{begin}\n" for begin, _ in piece.around)
            open_now = piece.around
        text += piece.text.rstrip("\n") + "\n"
        text += "\n" if piece.is_function or "\n" in piece.text.rstrip("\n") else ""
    return text.rstrip("\n") + "\n" + "".join(f"{end}\n" for _, end in reversed(open_now))


def units(text: str) -> list[str]:
    """The file itself where it is short; else each kernel (of a header: each function) with what it
    needs of the file, in the file's order."""
    if len(text.encode()) <= MOST_UNIT_BYTES:
        return [text]
    source = text.encode()
    pieces = list(_pieces(_parser().parse(source).root_node, source, (), True))
    roots = [piece for piece in pieces if piece.is_kernel]
    roots = roots or [piece for piece in pieces if piece.is_function]
    roots = roots or [piece for piece in pieces if piece.names and "{" in piece.text]
    found = []
    for root in roots:
        needed = {id(piece): piece for piece in pieces if piece.is_needed}
        needed[id(root)] = root
        waiting = [root, *needed.values()]
        while waiting:
            words = waiting.pop().words
            for piece in pieces:
                if id(piece) not in needed and words & piece.names:
                    needed[id(piece)] = piece
                    waiting.append(piece)
        unit = _joined(piece for piece in pieces if id(piece) in needed)
        if len(unit.encode()) <= 4 * MOST_UNIT_BYTES and unit not in found:
            found.append(unit)
    return found


# ---- compiling -----------------------------------------------------------------------------------


def compiler() -> str | None:
    home = os.environ.get("WARPSMITH_CUDA_HOME") or os.environ.get("CUDA_HOME")
    for folder in (home, "/usr/local/cuda"):
        if folder and os.access(f"{folder}/bin/nvcc", os.X_OK):
            return f"{folder}/bin/nvcc"
    return shutil.which("nvcc")


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))


@dataclass(frozen=True)
class Unit:
    code: str
    sources: Mapping[str, str] = field(default_factory=dict)  # headers by name
    folders: tuple[Path, ...] = ()  # where its includes are looked for
    flags: tuple[str, ...] = ()  # of our own tasks only: a stranger's flags are not passed on


def _compiles(unit: Unit, nvcc: str, architecture: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="warpsmith-train-") as folder:
        for name, text in {**unit.sources, "unit.cu": unit.code}.items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        command = [nvcc, f"-arch={architecture}", "-std=c++20", "-cubin", "-w", "-rdc=true",
                   "--expt-relaxed-constexpr", "--extended-lambda", "-O1", f"-I{folder}",
                   *(f"-I{path.absolute()}" for path in unit.folders), *unit.flags,
                   "-o", f"{folder}/unit.cubin", f"{folder}/unit.cu"]  # fmt: skip
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd=folder, preexec_fn=_limit,
                              start_new_session=True) as process:  # fmt: skip
            try:
                return process.wait(180) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)  # nvcc's own children, too
                return False


def compile_all(jobs: list[Unit], nvcc: str, architecture: str = "sm_90a") -> list[bool]:
    """Whether each becomes machine code."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda unit: _compiles(unit, nvcc, architecture), jobs))
