"""KernelBench: a judged program as a ModelNew that others can time, and eval_results.json.

For tasks that `warpsmith task import` made of a KernelBench checkout.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpsmith._judge import Verdict
from warpsmith.formats import files
from warpsmith.formats.task import (
    POINTER,
    Call,
    Program,
    call_text,
    read_call,
    read_program,
    read_task,
)

_FILE = """# {title}
# Written by warpsmith: the kernel as it was judged, called with this problem's own tensors.
{model}

import os as _os
from torch.utils.cpp_extension import load_inline as _load_inline

{architecture}_CUDA = {cuda!r}
_module = _load_inline(
    name={module!r},
    cpp_sources="void run(std::vector<torch::Tensor> tensors);",
    cuda_sources=_CUDA,
    functions=["run"],
    extra_ldflags=["-lcuda"],
)
_OUTPUTS = {outputs!r}
_PARAMETERS = {parameters!r}


def _plain(name):
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)


class ModelNew(Model):
    def forward(self, *inputs):
        state = {{_plain(name): value for name, value in self.state_dict().items()}}
        given = [one.contiguous() for one in inputs if isinstance(one, torch.Tensor)]
        given += [state[name].contiguous() for name in _PARAMETERS]
        outputs = [
            torch.empty(shape, dtype=getattr(torch, dtype), device=given[0].device)
            for shape, dtype in _OUTPUTS
        ]
        _module.run(outputs + given)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
"""

DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8",
    "i32": "int32", "i64": "int64", "bool": "bool",
}  # fmt: skip


def _forward_inputs(where: object, source: str) -> int:
    """How many parameters Model.forward has."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise files.bad(where, f"is no Python: {error}") from None
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.name != "Model":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "forward":
                return len(method.args.args) - 1
    raise files.bad(where, "defines no class Model with a method forward")


def extension_text(folder: Path, candidate: str | Path, call: Call, program: Program) -> str:
    """CUDA text for torch's load_inline: run(tensors) calls the program with outputs, inputs."""
    if len(program.sources) != 1:
        raise files.bad(candidate, "has several sources, and load_inline takes one")
    bound = "".join(f"  torch::Tensor& {name} = tensors.at({index});\n"
                    for index, name in enumerate([*call.outputs, *call.inputs]))  # fmt: skip
    return (
        f"#include <torch/extension.h>\n#include <cstdint>\n\n{program.sources[program.entry]}\n"
        f"namespace {{\n{POINTER}}}\n\nvoid run(std::vector<torch::Tensor> tensors) {{\n"
        f"{bound}{call_text(call, call.sizes(folder, {}))}}}\n"
    )


def model_new(task_folder: str | Path, candidate: str | Path, *, architecture: str = "") -> str:
    """The text of a file that defines ModelNew. `architecture`: of the verdict, such as sm_90a."""
    folder = Path(task_folder)
    folder = folder.parent if folder.is_file() else folder
    task = read_task(folder)
    reference = files.mapping(folder, task.get("reference"))
    if reference.get("style") != "module":
        raise files.bad(folder, "is no KernelBench problem: its reference is no module")
    path = folder / files.text_in(f"{folder}: reference", reference, "source")
    source = files.read_text(path)
    call = read_call(folder, task)
    program = read_program(candidate)
    declared = _forward_inputs(path, source)
    # Numbers among forward()'s parameters are constants of the call, and no tensors.
    scalars = sum(1 for one in call.arguments if one not in call.inputs and one not in call.outputs)
    cuda = extension_text(folder, candidate, call, program)
    outputs = [([files.whole_in(f"{folder}: {name}", extent) for extent in tensor["shape"]],
                DTYPES[tensor["dtype"]]) for name, tensor in call.outputs.items()]  # fmt: skip
    # What the task calls them is their name in state_dict(), with plain characters.
    parameters = [name.removeprefix("param:").removeprefix("param_")
                  for name in list(call.inputs)[declared - scalars:]]  # fmt: skip
    setting = ""
    if found := re.fullmatch(r"sm_(\d+)(\d)(a?)", architecture):
        listed = f"{found[1]}.{found[2]}{found[3]}"
        setting = f'_os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "{listed}")\n'
    module = "warpsmith_" + re.sub(r"\W", "_", files.file_name(folder.name))
    return _FILE.format(
        title=files.file_name(str(task.get("name", ""))), model=source.strip(), cuda=cuda,
        architecture=setting, module=module, outputs=outputs, parameters=parameters,
    )  # fmt: skip


def _stats(samples_us: list[float], hardware: str) -> dict[str, Any]:
    """As KernelBench's own: of all samples, in milliseconds."""
    if not samples_us:
        return {}
    return {
        "mean": statistics.fmean(samples_us) / 1000, "std": statistics.pstdev(samples_us) / 1000,
        "min": min(samples_us) / 1000, "max": max(samples_us) / 1000,
        "num_trials": len(samples_us), "hardware": hardware,
    }  # fmt: skip


def eval_result(verdict: Verdict, sample: int = 0) -> dict[str, Any] | None:
    """One entry of eval_results.json; None where the verdict is inconclusive. Times in ms."""
    if verdict.outcome == "inconclusive":
        return None
    evidence = verdict.evidence
    mode = next((one for one in verdict.modes if one.comparisons), None)
    metadata = {
        "hardware": evidence.get("device", ""), "device": evidence.get("device_uuid", ""),
        "judge": f"warpsmith {evidence.get('protocol', '')}", "outcome": verdict.outcome,
    }  # fmt: skip
    if verdict.reason:
        metadata["error"] = verdict.reason
    entry: dict[str, Any] = {
        "sample_id": sample, "compiled": verdict.outcome != "compile-failed",
        "correctness": verdict.passed, "metadata": metadata, "runtime": -1.0, "runtime_stats": {},
        "ref_runtime": -1.0, "ref_runtime_stats": {},
    }  # fmt: skip
    if mode is not None:
        entry["runtime"] = mode.median_us / 1000
        entry["runtime_stats"] = _stats(list(mode.samples_us), metadata["hardware"])
        entry["ref_runtime"] = mode.baselines_us[mode.comparisons[0].baseline] / 1000
    return entry


def eval_results(verdicts: Mapping[str, list[Verdict]]) -> dict[str, list[dict[str, Any]]]:
    """eval_results.json of verdicts by problem number."""
    results = {}
    for problem, judged in verdicts.items():
        entries = [eval_result(one, index) for index, one in enumerate(judged)]
        results[problem] = [one for one in entries if one is not None]
    return results
