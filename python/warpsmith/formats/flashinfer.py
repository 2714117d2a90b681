"""FlashInfer Trace (flashinfer-bench 0.1) and its dialect, SOL-ExecBench 1.0.

A definition with its workloads becomes a task; a program becomes a solution; a verdict becomes a
trace. `dialect` is "flashinfer" or "sol-execbench".
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from warpsmith._judge import Verdict
from warpsmith._program import BadInput
from warpsmith.formats import files
from warpsmith.formats.task import (
    POINTER,
    Call,
    call_text,
    read_call,
    read_program,
    read_task,
    task_text,
)

DIALECTS = ("flashinfer", "sol-execbench")
_DTYPES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
    "int8": "i8", "bool": "bool",
}  # fmt: skip
# What flashinfer-bench draws, as far as our `integers` can: from `low` to `high` - 1.
_RANGES = {"i8": (-128, 128), "i32": (-1024, 1024), "i64": (-1024, 1024), "bool": (0, 2)}

def _check_reference(where: object, definition: Mapping[str, Any]) -> str:
    if "reference" not in definition:
        raise files.bad(where, "has no reference, so nothing says what is right")
    text = files.text_in(where, definition, "reference")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise files.bad(f"{where}: reference", f"is no Python: {error}") from None
    if not any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in body):
        raise files.bad(f"{where}: reference", "defines no function run")
    return text


def _axes(where: object, definition: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    axes = files.mapping(f"{where}: axes", definition.get("axes"))
    for name, axis in axes.items():
        place = f"{where}: axes.{files.argument_name(where, name)}"
        kind = files.mapping(place, axis).get("type", "const" if "value" in axis else "var")
        if kind not in ("const", "var", "expr"):
            raise files.bad(place, f"type is {kind!r}, none of const, var, expr")
        axes[name] = {**axis, "type": kind}
        if kind == "const":
            files.whole_in(place, axis.get("value"))
        if kind == "expr":
            files.text_in(place, axis, "expression")
    return axes


def _extent(where: str, axis: Any, axes: Mapping[str, Mapping[str, Any]]) -> str:
    name: str = files.need(where, axis, str, "an axis's name")
    if name.isascii() and name.isdigit():
        return name
    if name not in axes:
        raise files.bad(where, f"names the axis '{name}', which there is not")
    if axes[name]["type"] == "expr":
        return str(axes[name]["expression"]).replace("//", "/")
    return name


def _tensors(where: object, definition: Mapping[str, Any],
             axes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:  # fmt: skip
    tensors: list[dict[str, Any]] = []
    for role in ("input", "output"):
        specs = files.mapping(f"{where}: {role}s", definition.get(role + "s"))
        for name, spec in specs.items():
            place = f"{where}: {role}s.{files.argument_name(where, name)}"
            dtype = files.mapping(place, spec).get("dtype")
            if spec.get("shape") is None and role == "input":
                continue  # a scalar: every workload gives it
            if dtype not in _DTYPES:
                raise files.bad(place, f"is of {dtype}, which tasks do not have")
            shape = files.need(f"{place}: shape", spec.get("shape"), list, "a list of axes")
            if not shape:
                raise files.bad(place, "has no extents")
            tensor: dict[str, Any] = {"name": name, "dtype": _DTYPES[dtype], "role": role,
                      "shape": [_extent(place, axis, axes) for axis in shape]}  # fmt: skip
            if role == "input" and tensor["dtype"] in _RANGES:
                low, high = _RANGES[tensor["dtype"]]
                tensor.update(generator="integers", low=low, high=high)
            if name in axes or any(name == other["name"] for other in tensors):
                raise files.bad(place, "has the name of another tensor or axis")
            tensors.append(tensor)
    if not any(tensor["role"] == "output" for tensor in tensors):
        raise files.bad(where, "has no output")
    return tensors


def _workload(where: str, body: Mapping[str, Any], axes: Mapping[str, Mapping[str, Any]],
              scalars: Iterable[str]) -> tuple[dict[str, int], dict[str, Any]]:  # fmt: skip
    """Its sizes, and the values of the definition's scalars. BadInput where no task can hold it."""
    given = files.mapping(f"{where}: axes", body.get("axes"))
    sizes = {}
    for name, axis in axes.items():
        if axis["type"] == "const":
            sizes[name] = axis["value"]
        elif axis["type"] == "var":
            sizes[name] = files.whole_in(f"{where}: axes.{name}", given.get(name), 1)
    inputs = files.mapping(f"{where}: inputs", body.get("inputs", {}))
    for name, spec in inputs.items():
        kind = files.mapping(f"{where}: inputs", spec).get("type")
        if kind not in ("random", "scalar"):
            raise files.bad(
                f"{where}: inputs", f"{name[:64]} is of type {kind}; a task draws its inputs"
            )
    values = {}
    for name in scalars:
        value = inputs.get(name, {}).get("value")
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise files.bad(f"{where}: inputs.{name}", "is a scalar without a finite value")
        values[name] = value
    return sizes, values


def _tolerance(workloads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    bounds = [one.get("tolerance") for one in workloads]
    given = [one for one in bounds if isinstance(one, Mapping)]

    def loosest(field: str) -> float:
        return max([files.finite(field, one.get(field, 1e-2)) for one in given], default=1e-2)

    words = (
        "SOL-ExecBench's, the loosest of its workloads'" if given else "flashinfer-bench's default"
    )
    return {"absolute": loosest("max_atol"), "relative": loosest("max_rtol"),
            "reason": words + "; every element must hold it"}  # fmt: skip


def _reference(inputs: Mapping[str, Any], tensors: list[dict[str, Any]],
               scalars: Mapping[str, Any], name: str) -> str:  # fmt: skip
    parameters = [one["name"] for one in tensors if one["role"] == "input"]
    outputs = [one["name"] for one in tensors if one["role"] == "output"]
    arguments = [repr(scalars[one]) if one in scalars else one for one in inputs]
    return (
        f'"""The definition {name}, called as warpsmith calls a reference."""\n\n'
        "import definition\n\n\n"
        f"def reference({', '.join(parameters)}):\n"
        f"    found = definition.run({', '.join(arguments)})\n"
        "    if isinstance(found, dict):\n"
        f"        found = tuple(found[name] for name in {outputs!r})\n"
        f"    return tuple(found) if isinstance(found, (list, tuple)) else found\n"
    )


def _read_lines(path: str | Path) -> list[tuple[str, dict[str, Any]]]:
    bodies = []
    for number, line in enumerate(files.read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        body = files.mapping(where, files.parse_json(where, line))
        bodies.append((where, files.mapping(where, body.get("workload", body))))
    return bodies


def import_definition(definition_path: str | Path, workloads_path: str | Path | None,
                      folder: str | Path) -> list[str]:  # fmt: skip
    """Writes a task's folder; answers with a line for each workload that it cannot hold.

    `workloads_path`: a .jsonl of workloads or traces; None where all axes are constant. The last
    workload is hidden. Inputs from safetensors, custom generators, FP8 and FP4 are refused.
    """
    where = str(definition_path)
    definition = files.mapping(where, files.read_json(definition_path))
    name = files.text_in(where, definition, "name")
    axes = _axes(where, definition)
    tensors = _tensors(where, definition, axes)
    reference = _check_reference(where, definition)
    inputs = files.mapping(where, definition["inputs"])
    scalars = [one for one, spec in inputs.items() if spec.get("shape") is None]
    notes: list[str] = []
    taken: dict[str, dict[str, int]] = {}
    bodies: list[dict[str, Any]] = []
    values: dict[str, Any] | None = None
    lines = _read_lines(workloads_path) if workloads_path is not None else []
    if workloads_path is None:
        lines = [(where, {"axes": {}, "inputs": {}, "uuid": "given"})]
    for place, body in lines:
        try:
            uuid = files.file_name(files.text_in(place, body, "uuid"))
            sizes, own = _workload(place, body, axes, scalars)
            if values is not None and own != values:
                raise files.bad(
                    place, "has other scalars than the first, and a task has one reference"
                )
            if uuid in taken:
                raise files.bad(place, f"has the uuid '{uuid}' again")
        except BadInput as error:
            notes.append(error.message)
            continue
        values = own
        taken[uuid] = sizes
        bodies.append({**body, "uuid": uuid})
    if not taken:
        raise files.bad(where, "no workload can be a task's" + (f": {notes[0]}" if notes else ""))
    hidden = list(taken)[-1:] if len(taken) > 1 else []
    files.write_folder(folder, {
        "task.toml": task_text(name, tensors, taken, hidden, _tolerance(bodies),
                               ["reference.py", "definition.py"], "torch-best"),
        "reference.py": _reference(inputs, tensors, values or {}, files.file_name(name)),
        "definition.py": reference,
        "definition.json": json.dumps(definition, indent=1) + "\n",
        "workloads.jsonl": "".join(json.dumps(body) + "\n" for body in bodies),
    })  # fmt: skip
    return notes


_TVM_FFI = """#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

namespace {{
{pointer}
// What the call needs of a tensor.
struct Tensor {{
  tvm::ffi::TensorView view;
  void* data_ptr() const {{ return view.data_ptr(); }}
  int64_t size(int i) const {{ return view.shape()[i]; }}
}};

void Run({parameters}) {{
{tensors}{call}}}
}}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, Run);
"""

_TORCH = """#include <torch/extension.h>

namespace {{
{pointer}
void Run({parameters}) {{
{call}}}
}}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("run", &Run); }}
"""


def _binding(dialect: str, call: Call, inputs: Mapping[str, Any], where: object,
             known: Mapping[str, int]) -> str:  # fmt: skip
    order = [*inputs, *call.outputs]
    tensors = [one for one in order if one in call.inputs or one in call.outputs]
    scalars = {one: "double" for one in order if one not in tensors}
    text = call_text(call, call.sizes(where, known))
    if dialect == "sol-execbench":
        kinds = {one: "torch::Tensor" for one in tensors} | scalars
        parameters = ", ".join(f"{kinds[one]} {one}" for one in order)
        return _TORCH.format(pointer=POINTER, parameters=parameters, call=text)
    kinds = {one: "tvm::ffi::TensorView" for one in tensors} | scalars
    views = [f"{one}_view" if one in tensors else one for one in order]
    parameters = ", ".join(f"{kinds[one]} {view}" for one, view in zip(order, views, strict=True))
    wrapped = "".join(f"  const Tensor {one}{{{one}_view}};\n" for one in tensors)
    return _TVM_FFI.format(pointer=POINTER, parameters=parameters, tensors=wrapped, call=text)


def solution(task_folder: str | Path, candidate: str | Path, name: str, author: str,
             dialect: str = "flashinfer") -> dict[str, Any]:  # fmt: skip
    """A program as a solution of the definition that the task was imported from."""
    if dialect not in DIALECTS:
        raise files.bad("dialect", f"{dialect!r} is none of {', '.join(DIALECTS)}")
    folder = Path(task_folder)
    definition = files.mapping(folder, files.read_json(folder / "definition.json"))
    call = read_call(folder, read_task(folder))
    program = read_program(candidate)
    axes = _axes(folder, definition)
    known = {one: axis["value"] for one, axis in axes.items() if axis["type"] == "const"}
    inputs = files.mapping(folder, definition["inputs"])
    binding = _binding(dialect, call, inputs, folder, known)
    # Builders compile every source that they know the ending of; ours is one that includes others.
    others = {path: text for path, text in program.sources.items() if path != program.entry}
    if any(Path(path).suffix in (".cu", ".cpp", ".cc", ".cxx", ".c") for path in others):
        raise files.bad(
            candidate, "includes a file that others would compile by itself", "call it .cuh"
        )
    text = f"#include <cstdint>\n\n{program.sources[program.entry]}\n{binding}"
    sol = dialect == "sol-execbench"
    spec: dict[str, Any] = {
        "target_hardware": ["LOCAL"] if sol else ["cuda"],
        "entry_point": "binding.cu::run", "dependencies": [], "destination_passing_style": True,
        "binding": "torch" if sol else "tvm-ffi",
        **({"languages": ["cuda_cpp"]} if sol else {"language": "cuda"}),
    }  # fmt: skip
    sources = {"binding.cu": text, **others}
    return {
        "name": name, "definition": definition["name"], "author": author, "spec": spec,
        "sources": [{"path": path, "content": content} for path, content in sources.items()],
        "description": "judged by warpsmith",
    }  # fmt: skip


_GEMM = """import warpsmith


def run({a}, {b}, {c}):
    warpsmith.matmul({a}, {b}{transposed}, out={c})
"""


def gemm_solution(definition_path: str | Path, name: str, author: str,
                  dialect: str = "flashinfer") -> dict[str, Any]:  # fmt: skip
    """The GEMM library as a solution of a product: two inputs of f16 or bf16, and their product.

    It needs the package warpsmith where it runs, and the library's pack for its kernels.
    """
    if dialect not in DIALECTS:
        raise files.bad("dialect", f"{dialect!r} is none of {', '.join(DIALECTS)}")
    where = str(definition_path)
    definition = files.mapping(where, files.read_json(definition_path))
    tensors = _tensors(where, definition, _axes(where, definition))
    if [one["role"] for one in tensors] != ["input", "input", "output"] or len(
        files.mapping(where, definition["inputs"])) != 2:  # fmt: skip
        raise files.bad(where, "is no product: expected two input tensors and one output")
    a, b, c = tensors
    m, k, n = a["shape"][0], a["shape"][-1], c["shape"][-1]
    stored = {(n, k): ".T", (k, n): ""}.get(tuple(b["shape"]))
    is_product = a["shape"] == [m, k] and c["shape"] == [m, n] and stored is not None
    if not is_product or {one["dtype"] for one in tensors} not in ({"f16"}, {"bf16"}):
        raise files.bad(where, "is no product of f16 or bf16: (m, k) times (k, n) or (n, k)")
    sol = dialect == "sol-execbench"
    spec: dict[str, Any] = {
        "target_hardware": ["LOCAL"] if sol else ["cuda"], "entry_point": "main.py::run",
        "dependencies": ["warpsmith"], "destination_passing_style": True,
        **({"languages": ["pytorch"]} if sol else {"language": "python"}),
    }  # fmt: skip
    text = _GEMM.format(a=a["name"], b=b["name"], c=c["name"], transposed=stored)
    return {
        "name": name, "definition": files.text_in(where, definition, "name"), "author": author,
        "spec": spec, "sources": [{"path": "main.py", "content": text}],
        "description": "libwarpsmith_gemm: the kernel that was measured to be fastest",
    }  # fmt: skip


def sol_score(verdict: Verdict) -> float | None:
    """1 / (1 + (T - T_sol) / (T_b - T_sol)): 0.5 at the baseline, 1 at the roofline bound."""
    for mode in verdict.modes:
        if not mode.comparisons:
            continue
        baseline = mode.baselines_us.get(mode.comparisons[0].baseline, 0.0)
        if mode.floor_us <= 0 or baseline <= mode.floor_us or mode.median_us < mode.floor_us:
            return None  # a bound that does not bind says nothing
        return 1 / (1 + (mode.median_us - mode.floor_us) / (baseline - mode.floor_us))
    return None


_STATUS = {
    "passed": "PASSED", "incorrect": "INCORRECT_NUMERICAL", "compile-failed": "COMPILE_ERROR",
    "run-failed": "RUNTIME_ERROR", "rejected": "RUNTIME_ERROR", "timed-out": "TIMEOUT",
}  # fmt: skip


def _correctness(verdict: Verdict) -> dict[str, Any]:
    found = verdict.document.get("correctness", {})
    worst = max([float(one) for one in found.get("max_deviation", [])], default=0.0)
    if not verdict.passed:
        worst = abs(float(verdict.document.get("error", 0))) or math.inf
    extra = {
        "worst_bound_fraction": found.get("worst_bound_fraction"),
        "sol_score": sol_score(verdict),
    }
    return {
        # What the judge does not measure is not a number; a text, as flashinfer-bench has it.
        "max_relative_error": "nan",
        "max_absolute_error": worst if math.isfinite(worst) else "inf",
        "extra": {name: value for name, value in extra.items() if value is not None},
    }  # fmt: skip


def trace(task_folder: str | Path, verdict: Verdict, workload: str,
          solution_name: str) -> dict[str, Any] | None:  # fmt: skip
    """A verdict on the workload of this name as a trace; None where it is inconclusive."""
    if verdict.outcome == "inconclusive":
        return None
    folder = Path(task_folder)
    definition = files.mapping(folder, files.read_json(folder / "definition.json"))
    bodies = {body["uuid"]: body for _, body in _read_lines(folder / "workloads.jsonl")}
    if workload not in bodies:
        raise files.bad(folder, f"has no workload '{workload}'")
    status = _STATUS[verdict.outcome]
    evidence = verdict.evidence
    libs = {"driver": "driver", "toolchain": "cuda", "baseline_library": "baseline",
            "protocol": "warpsmith_protocol"}  # fmt: skip
    evaluation: dict[str, Any] = {
        "status": status,
        "environment": {
            "hardware": evidence.get("device") or "unknown",
            "libs": {name: evidence[field] for field, name in libs.items() if field in evidence},
        },
        "timestamp": evidence.get("date") or "unknown",
        "log": verdict.reason,
    }
    if status in ("PASSED", "INCORRECT_NUMERICAL"):
        evaluation["correctness"] = _correctness(verdict)
    if verdict.passed:
        mode = next((one for one in verdict.modes if one.comparisons), None)
        if mode is None:
            raise files.bad(folder, "the verdict compares with no baseline, and a trace needs one")
        evaluation["performance"] = {
            "latency_ms": mode.median_us / 1000,
            "reference_latency_ms": mode.baselines_us[mode.comparisons[0].baseline] / 1000,
            "speedup_factor": mode.comparisons[0].ratio,
        }
    return {"definition": definition["name"], "workload": bodies[workload],
            "solution": solution_name, "evaluation": evaluation}  # fmt: skip
