"""gpu-mode problems (task.yml, reference.py): a problem becomes a task, a program a submission.py.

The problems' files are code of their own licence, which the import runs: bring your own checkout.
Each spec of `tests` and `benchmarks` is a workload; those of `tests` are hidden.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from warpsmith._program import BadInput, Error
from warpsmith.formats import files
from warpsmith.formats.kernelbench import DTYPES, extension_text
from warpsmith.formats.task import read_call, read_program, read_task, task_text

_OURS = {name: dtype for dtype, name in DTYPES.items()}
_MOST_FILE_BYTES = 1 << 20
_SECONDS = 120.0
_SUBMITTED = ("submission.py", "eval.py")  # of others' judge, and of the candidate


def _yaml(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise BadInput("no-input", "nothing here reads YAML",
                       "pip install 'warpsmith[formats]'") from None  # fmt: skip

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(parent, index)

    text = files.read_text(path)
    if len(text) > _MOST_FILE_BYTES:
        raise files.bad(path, "has more than 1 MiB")
    try:
        return files.mapping(path, yaml.load(text, Loader))  # a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        raise files.bad(path, f"is no YAML: {' '.join(str(error).split())}") from None


def _sources(where: Path, listed: Any) -> dict[str, str]:
    """The problem's Python files by the name under which they import each other."""
    # Files may be shared by problems: they may lie up to two folders above.
    top = where.parent.parent.parent.resolve()
    sources = {}
    for entry in files.need(f"{where}: files", listed, list, "a list"):
        name = files.text_in(f"{where}: files", files.mapping(f"{where}: files", entry), "name")
        source = files.text_in(f"{where}: files", entry, "source")
        if name in _SUBMITTED or source == "@SUBMISSION@":
            continue
        if not name.endswith(".py") or not name.removesuffix(".py").isidentifier():
            raise files.bad(f"{where}: files", f"'{name[:64]}' is no plain name of a .py file")
        path = (where.parent / source).resolve()
        if Path(source).is_absolute() or not path.is_relative_to(top):
            raise files.bad(f"{where}: files", f"'{source[:64]}' lies outside the problem's checkout")
        sources[name] = files.read_text(path)
    if "reference.py" not in sources:
        raise files.bad(where, "has no reference.py among its files")
    return sources


def _specs(where: Path, document: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """All specs, those of `benchmarks` first; and how many are benchmarks."""
    specs: list[dict[str, Any]] = []
    benchmarks = 0
    for part in ("benchmarks", "tests"):
        for spec in files.need(f"{where}: {part}", document.get(part, []), list, "a list"):
            place = f"{where}: {part}"
            for name, value in files.mapping(place, spec).items():
                files.identifier(place, files.need(place, name, str, "a name"))
                if not isinstance(value, (bool, int, float, str)):
                    raise files.bad(f"{place}: {name}", "is neither number nor text")
            specs.append(spec)
        benchmarks = benchmarks or len(specs)
    if not 1 <= len(specs) <= 256:
        raise files.bad(where, f"has {len(specs)} benchmarks and tests; from 1 to 256 can be taken")
    return specs, benchmarks


def _names(where: Path, source: str, tensors: int) -> list[str]:
    """What ref_kernel calls the parts of its data, where it takes them apart by `a, b = data`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise files.bad(where, f"is no Python: {error}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "ref_kernel" and node.args.args:
            data = node.args.args[0].arg
            for one in ast.walk(node):
                if (isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Tuple)
                        and isinstance(one.value, ast.Name) and one.value.id == data):  # fmt: skip
                    found = [getattr(part, "id", "") for part in one.targets[0].elts]
                    if len(set(found)) == tensors == len(found):
                        return found
    return [f"data{i}" for i in range(tensors)]


def _tolerance(where: Path, source: str) -> dict[str, Any]:
    """Of check_implementation, as far as it compares element by element."""
    defaults = {"make_match_reference": (1e-5, 1e-8), "match_reference": (1e-5, 1e-8),
                "verbose_allclose": (1e-5, 1e-8), "verbose_allequal": (0.0, 0.0)}  # fmt: skip
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name not in defaults:
            continue
        relative, absolute = defaults[name]
        given = {one.arg: one.value for one in node.keywords}
        try:
            relative = float(ast.literal_eval(given["rtol"])) if "rtol" in given else relative
            absolute = float(ast.literal_eval(given["atol"])) if "atol" in given else absolute
        except (ValueError, TypeError, SyntaxError):
            raise files.bad(where, f"{name} has tolerances that are no plain numbers") from None
        return {"absolute": files.finite(where, absolute), "relative": files.finite(where, relative),
                "reason": f"the problem's own: {name}"}  # fmt: skip
    raise files.bad(where, "compares in a way of its own, and a task compares element by element",
                    "write the task by hand: docs/task-format.md")  # fmt: skip


def _leaves(node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(kind, body) of a described structure's tensors, in its order."""
    ((kind, body),) = node.items()
    if kind in ("input", "place"):
        yield kind, body
    elif kind in ("tuple", "list"):
        for one in body:
            yield from _leaves(one)
    elif kind == "dict":
        for one in body.values():
            yield from _leaves(one)


def _places(kinds: list[str], leaves: list[list[tuple[str, Any]]],
            found: list[dict[str, Any]]) -> list[int | None]:  # fmt: skip
    """For each output the tensor of the data that is there to be filled with it, if there is one.

    The reference fills it, or leaves it alone and gives a new tensor of the same shapes.
    """
    places: list[int | None] = []
    for index, output in enumerate(found[0]["outputs"]):
        of_cases = [(case["outputs"][index]["shape"], case["outputs"][index]["dtype"])
                    for case in found]  # fmt: skip
        wanted = output["place"]
        if wanted is None:
            wanted = next((i for i, kind in enumerate(kinds) if kind == "place" and i not in places
                           and [(one[i][1]["shape"], one[i][1]["dtype"]) for one in leaves]
                           == of_cases), None)  # fmt: skip
        places.append(wanted if wanted is not None and kinds[wanted] == "place" else None)
    return places


def probe(sources: Mapping[str, str], specs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the problem draws and gives for each spec: runs its code, in $WARPSMITH_PYTHON."""
    python = os.environ.get("WARPSMITH_PYTHON") or sys.executable
    script = Path(__file__).parent / "gpumode_probe.py"
    with tempfile.TemporaryDirectory(prefix="warpsmith-") as folder:
        for name, text in sources.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([python, str(script)], input=json.dumps({"cases": specs}),
                                  capture_output=True, text=True, cwd=folder, timeout=_SECONDS,
                                  check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Error("timeout", f"reference.py ran for more than {_SECONDS:.0f} s") from None
        except OSError as error:
            raise BadInput("no-input", f"{python}: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise files.bad("reference.py", f"cannot be run by {python}: {lines[-1]}",
                        "it needs a Python with torch: name it in WARPSMITH_PYTHON")  # fmt: skip
    cases: list[dict[str, Any]] = json.loads(done.stdout)["cases"]
    return cases


def _sized(tensors: list[dict[str, Any]], shapes: list[list[list[int]]],
           specs: list[dict[str, Any]]) -> list[dict[str, int]]:  # fmt: skip
    """Gives each tensor its shape by names, and answers with the sizes of each case.

    An extent is a number where all cases have it, else the spec's value that it equals in all
    cases, else a size of its own.
    """
    sizes: list[dict[str, int]] = [{"case": index} for index in range(len(specs))]
    named = {tuple(spec[name] for spec in specs): name for name in reversed(specs[0])
             if name not in ("seed", "case") and all(type(spec.get(name)) is int for spec in specs)}  # fmt: skip
    for tensor, of_cases in zip(tensors, zip(*shapes, strict=True), strict=True):
        if len({len(shape) for shape in of_cases}) != 1:
            raise files.bad(tensor["name"], "has more dimensions in some specs than in others")
        tensor["shape"] = []
        for axis, extents in enumerate(zip(*of_cases, strict=True)):
            if len(set(extents)) == 1:
                tensor["shape"].append(extents[0])
                continue
            name = named.setdefault(extents, f"{tensor['name']}_{axis}")
            files.argument_name("reference.py", name)
            tensor["shape"].append(name)
            for size, extent in zip(sizes, extents, strict=True):
                size[name] = extent
        if not tensor["shape"]:
            tensor["shape"] = [1]
    return sizes


_REFERENCE = '''"""The gpu-mode problem {name}, called as warpsmith calls a reference."""

import torch

import cases
import reference as problem


def _built(node, tensors):
    """The problem's data: its structure, with these tensors and new places for answers."""
    ((kind, body),) = node.items()
    if kind == "input":
        value = next(tensors)
        return value.reshape(body["shape"])
    if kind == "place":
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.empty(body["shape"], dtype=getattr(torch, body["dtype"]), device=device)
    if kind == "dict":
        return {{name: _built(one, tensors) for name, one in body.items()}}
    if kind in ("tuple", "list"):
        values = [_built(one, tensors) for one in body]
        return values if kind == "list" else tuple(values)
    return body


def _inputs(value, node):
    ((kind, body),) = node.items()
    if kind == "input":
        return [value]
    if kind == "dict":
        return [found for name, one in body.items() for found in _inputs(value[name], one)]
    if kind in ("tuple", "list"):
        return [found for part, one in zip(value, body) for found in _inputs(part, one)]
    return []


def get_inputs(case):
    spec = dict(cases.SPECS[case])
    if "seed" in spec:
        spec["seed"] = int(torch.randint(1, 1 << 31, (), device="cpu"))
    return _inputs(problem.generate_input(**spec), cases.DATA[case])


def reference({inputs}, *, case):
    return problem.ref_kernel(_built(cases.DATA[case], iter(({inputs},))))
'''


def import_problem(path: str | Path, folder: str | Path) -> None:
    """Writes the task's folder of a problem's task.yml (or of the folder that holds it)."""
    where = Path(path)
    where = where / "task.yml" if where.is_dir() else where
    document = _yaml(where)
    if document.get("lang", "py") != "py":
        raise files.bad(where, f"its lang is {document['lang']!r}; problems of 'py' can be taken")
    if document.get("multi_gpu"):
        raise files.bad(where, "needs several GPUs, and a task has one")
    sources = _sources(where, document.get("files"))
    for name in ("judged.py", "cases.py"):
        if name in sources:
            raise files.bad(where, f"has a file {name}, which the import writes")
    specs, benchmarks = _specs(where, document)
    tolerance = _tolerance(where, sources["reference.py"])
    found = probe(sources, specs)
    files.write_folder(folder, task_files(where, sources, specs, benchmarks, tolerance, found))


def task_files(where: Path, sources: Mapping[str, str], specs: list[dict[str, Any]],
               benchmarks: int, tolerance: Mapping[str, Any],
               found: list[dict[str, Any]]) -> dict[str, str]:  # fmt: skip
    """The files of a task, from what probe() found."""
    leaves = [list(_leaves(one["data"])) for one in found]
    kinds = [kind for kind, _ in leaves[0]]
    if any([kind for kind, _ in one] != kinds for one in leaves):
        raise files.bad(where, "its data have another structure in some specs than in others")
    names = _names(where, sources["reference.py"], len(kinds))
    outputs = [[body for _, body in one if _ == "input"] + case["outputs"]
               for one, case in zip(leaves, found, strict=True)]  # fmt: skip
    inputs = [name for name, kind in zip(names, kinds, strict=True) if kind == "input"]
    places = _places(kinds, leaves, found)
    results = [f"output{i}" if one is None else names[one] for i, one in enumerate(places)]
    tensors: list[dict[str, Any]] = []
    for name, body in zip([*inputs, *results], outputs[0], strict=True):
        files.argument_name(where, name)
        if body["dtype"] not in _OURS:
            raise files.bad(where, f"{name} is of {body['dtype']}, which tasks do not have")
        role = "input" if len(tensors) < len(inputs) else "output"
        tensors.append({"name": name, "dtype": _OURS[body["dtype"]], "role": role, "shape": []})
        if role == "input":
            tensors[-1]["generator"] = "reference"
    if len({one["name"] for one in tensors}) != len(tensors):
        raise files.bad(where, "two of its tensors have one name")
    if not inputs:
        raise files.bad(where, "draws no tensor")
    sizes = _sized(tensors, [[body["shape"] for body in one] for one in outputs], specs)
    workloads = {f"{'benchmark' if i < benchmarks else 'test'}-{i if i < benchmarks else i - benchmarks}":
                 one for i, one in enumerate(sizes)}  # fmt: skip
    name = files.file_name(where.parent.name)
    python = ["judged.py", "cases.py", *sources]
    # The problems' references switch determinism on and off, which torch.compile does not trace.
    toml = task_text(name, tensors, workloads, list(workloads)[benchmarks:], tolerance, python,
                     "torch-eager", unpassed="case")  # fmt: skip
    problem = {"kinds": kinds, "single": found[0]["single"], "places": places}
    return {
        **sources,
        "task.toml": toml,
        "judged.py": _REFERENCE.format(name=name, inputs=", ".join(inputs)),
        "cases.py": f"SPECS = {specs!r}\nDATA = {[one['data'] for one in found]!r}\n",
        "gpumode.json": files.dump(problem),
    }


_SUBMISSION = '''#!POPCORN leaderboard {leaderboard}
#!POPCORN gpu {gpu}
# Written by warpsmith: the kernel as it was judged.
import torch
from torch.utils.cpp_extension import load_inline

from task import input_t, output_t

_module = load_inline(
    name={module!r},
    cpp_sources="void run(std::vector<torch::Tensor> tensors);",
    cuda_sources={cuda!r},
    functions=["run"],
    extra_ldflags=["-lcuda"],
)
_KINDS = {kinds!r}
_OUTPUTS = {outputs!r}  # the place of each among the data, or how it is made


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [one for inner in value for one in _tensors(inner)]
    return []


def custom_kernel(data: input_t) -> output_t:
    given = _tensors(data)
    inputs = [one.contiguous() for one, kind in zip(given, _KINDS) if kind == "input"]
    sizes = {sizes}
    outputs = [
        given[one] if isinstance(one, int)
        else torch.empty([sizes.get(n, n) for n in one[0]], dtype=getattr(torch, one[1]),
                         device=inputs[0].device)
        for one in _OUTPUTS
    ]
    _module.run(outputs + inputs)
    return {returned}
'''


def submission(task_folder: str | Path, candidate: str | Path, leaderboard: str,
               gpu: str) -> str:  # fmt: skip
    """The text of a submission.py of a program that was judged on an imported problem."""
    folder = Path(task_folder)
    problem = files.mapping(folder, files.read_json(folder / "gpumode.json"))
    for word in (leaderboard, gpu):
        if word != files.file_name(word):
            raise files.bad("header", f"'{word[:64]}' is no plain name")
    call = read_call(folder, read_task(folder))
    program = read_program(candidate)
    places = files.need(folder, problem.get("places"), list, "a list")
    sizes = {}
    for position, tensor in enumerate(call.inputs.values()):  # the order of the data
        for axis, extent in enumerate(tensor["shape"]):
            if isinstance(extent, str):
                sizes.setdefault(extent, f"inputs[{position}].shape[{axis}]")
    made: list[Any] = []
    for place, (name, tensor) in zip(places, call.outputs.items(), strict=True):
        unknown = [one for one in tensor["shape"] if isinstance(one, str) and one not in sizes]
        if place is None and unknown:
            raise files.bad(folder, f"{name}'s extent {unknown[0]} is no input's: it cannot be made")
        made.append((tensor["shape"], DTYPES[tensor["dtype"]]) if place is None else place)
    return _SUBMISSION.format(
        leaderboard=leaderboard, gpu=gpu, cuda=extension_text(folder, candidate, call, program),
        module="warpsmith_" + files.file_name(folder.name).replace("-", "_").replace(".", "_"),
        kinds=problem.get("kinds"), outputs=made,
        sizes="{" + ", ".join(f"{one!r}: {text}" for one, text in sizes.items()) + "}",
        returned="outputs[0]" if problem.get("single") else "tuple(outputs)",
    )  # fmt: skip
