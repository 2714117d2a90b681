"""Our own files, as far as the translators need them: task.toml and candidates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith._program import BadInput
from warpsmith.formats import files


def _toml(path: Path) -> dict[str, Any]:
    try:
        import tomllib
    except ImportError:
        raise BadInput("config", "reading TOML takes Python 3.11 or newer") from None
    try:
        return tomllib.loads(files.read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise files.bad(path, f"is no TOML: {error}") from None


def toml_text(value: Any) -> str:
    """A text, number, bool, list or object as an inline TOML value."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml_text(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_text(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def task_text(name: str, tensors: list[dict[str, Any]], workloads: Mapping[str, dict[str, int]],
              hidden: Iterable[str], tolerance: Mapping[str, Any], sources: list[str],
              baseline: str, unpassed: str = "") -> str:  # fmt: skip
    """A task.toml with a PyTorch function as its reference; the first of `sources` is the entry.

    Programs get the outputs, the inputs and the sizes, except the size `unpassed`.
    """
    outputs = [one["name"] for one in tensors if one["role"] == "output"]
    inputs = [one["name"] for one in tensors if one["role"] == "input"]
    sizes = [one for one in next(iter(workloads.values())) if one != unpassed]
    parameters = [f"void* {one}" for one in outputs] + [f"const void* {one}" for one in inputs]
    parameters += [f"int64_t {one}" for one in sizes]
    declaration = f'extern "C" void launch_gpu_implementation({", ".join(parameters)})'
    options = {"entry": sources[0], "style": "function", "precision": "native"}
    text = f"version = 1\nname = {toml_text(name)}\ntensors = [\n"
    text += "".join(f"  {toml_text(tensor)},\n" for tensor in tensors)
    text += (
        f']\nbaselines = [{toml_text(baseline)}]\n\n[reference]\nkind = "torch"\n'
        f"sources = {toml_text(sources)}\noptions = {toml_text(options)}\n\n"
        f"[program]\ndeclaration = {toml_text(declaration)}\n"
        f"arguments = {toml_text([*outputs, *inputs, *sizes])}\n\n[tolerance]\n"
    )
    text += "".join(f"{field} = {toml_text(value)}\n" for field, value in tolerance.items())
    for workload, values in workloads.items():
        text += f"\n[[workloads]]\nname = {toml_text(workload)}\nsizes = {toml_text(values)}\n"
        text += "hidden = true\n" if workload in hidden else ""
    return text


def read_task(folder: str | Path) -> dict[str, Any]:
    path = Path(folder)
    return _toml(path / "task.toml" if path.is_dir() else path)


@dataclass(frozen=True)
class Program:
    """A candidate that launches its kernels itself; `call` fits the task's declaration."""

    entry: str
    sources: dict[str, str]


def read_program(path: str | Path) -> Program:
    """A .cu, a candidate.toml, an exported candidate.json, or the folder of one of them."""
    file = Path(path)
    if file.suffix == ".cu":
        return Program(file.name, {file.name: files.read_text(file)})
    for name in ("candidate.toml", "candidate.json"):
        if file.is_dir() and (file / name).is_file():
            file = file / name
    document = files.read_json(file) if file.suffix == ".json" else _toml(file)
    files.mapping(file, document)
    if document.get("form", "kernel") != "program":
        raise files.bad(file, "is a kernel with a launch plan, which others do not carry out",
                        "write a program: a .cu that launches its kernels itself")  # fmt: skip
    entry = files.text_in(file, document, "entry")
    sources = document.get("sources", [entry])
    if isinstance(sources, list):
        sources = {
            name: files.read_text(file.parent / files.need(file, name, str, "a path"))
            for name in sources
        }
    for name in files.mapping(file, sources):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise files.bad(file, f"source '{name}' is outside its folder")
    if entry not in sources:
        raise files.bad(file, f"entry '{entry}' is none of its sources")
    return Program(entry, sources)


@dataclass(frozen=True)
class Call:
    """How a task's programs are called: the declaration, and an argument for each parameter."""

    declaration: str
    arguments: list[str]
    inputs: dict[str, Mapping[str, Any]]  # tensors by name, in the task's order
    outputs: dict[str, Mapping[str, Any]]

    @property
    def function(self) -> str:
        return self.declaration.split("(")[0].split()[-1].lstrip("*&")

    def sizes(self, where: object, known: Mapping[str, int]) -> dict[str, str]:
        """For each size a C++ expression over `<tensor>.size(i)`; `known` ones are literals."""
        found = {name: str(value) for name, value in known.items()}
        for name, tensor in {**self.inputs, **self.outputs}.items():
            for place, extent in enumerate(tensor["shape"]):
                if isinstance(extent, str) and extent.isidentifier():
                    found.setdefault(extent, f"{name}.size({place})")
        needed = [one for one in self.arguments if one not in {**self.inputs, **self.outputs}]
        for one in needed:
            if one.isidentifier() and one not in found:
                raise files.bad(where, f"size {one} is no tensor's extent: a call cannot tell it")
        return found


def read_call(where: object, task: Mapping[str, Any]) -> Call:
    program = task.get("program")
    if not isinstance(program, Mapping):
        raise files.bad(where, "the task has no [program], so nothing says how one is called")
    try:
        tensors = {role: {one["name"]: one for one in task["tensors"] if one["role"] == role}
                   for role in ("input", "output")}  # fmt: skip
        return Call(program["declaration"].strip(), [str(one) for one in program["arguments"]],
                    tensors["input"], tensors["output"])  # fmt: skip
    except (KeyError, TypeError) as error:
        raise files.bad(where, f"is no whole task: {error}") from None


# Converts to whatever pointer the declaration asks for.
POINTER = """struct WarpsmithPointer {
  void* address;
  template <typename T>
  operator T*() const { return static_cast<T*>(address); }
};
"""


def call_text(call: Call, sizes: Mapping[str, str], indent: str = "  ") -> str:
    """C++ lines that call the program with tensors that have data_ptr() and size(i)."""
    tensors = {**call.inputs, **call.outputs}
    used = [name for name in sizes if any(name in one for one in call.arguments)]
    lines = [f"const int64_t {name} = {sizes[name]};" for name in used]
    arguments = [f"WarpsmithPointer{{{one}.data_ptr()}}" if one in tensors else one
                 for one in call.arguments]  # fmt: skip
    lines.append(f"{call.function}({', '.join(arguments)});")
    return "".join(f"{indent}{line}\n" for line in lines)
