"""What warpsmith.formats writes, read by the packages that it is for: formats_contract.py CHECKOUT.

kernel_tuner 1.5.0 and flashinfer-bench 0.1.2 from the package index. The package of the latter
imports torch, which its models do not need: they are loaded without it.
"""

import importlib
import json
import sys
import tempfile
import types
from importlib.util import find_spec
from pathlib import Path

CHECKOUT = Path(sys.argv[1])

import jsonschema
import kernel_tuner
import test_formats as ours  # its sample files; this folder is the script's
from constraint import FunctionConstraint
from kernel_tuner import util
from kernel_tuner.file_utils import store_output_file
from warpsmith import verdict_from
from warpsmith.formats import flashinfer, recording
from warpsmith.formats import kernel_tuner as t4


def check_kernel_tuner(folder):
    schemas = Path(kernel_tuner.__file__).parent / "schema/T4/1.0.0"
    results = json.loads((schemas / "results-schema.json").read_text())
    metadata = json.loads((schemas / "metadata-schema.json").read_text())
    t4.export(recording.read(ours.SPACE), folder / "t4")
    for path in (folder / "t4").glob("*.t4.json"):
        document = json.loads(path.read_text())
        jsonschema.validate(document, results)
        jsonschema.validate(document, metadata)
    # Simulation mode replays what an H200 measured.
    path = folder / "t4/hgemm-64x128x8192-TN-tiny.cache.json"
    cache = util.read_cache(str(path), open_cache=False)
    names, keys = cache["tune_params_keys"], set(cache["cache"])
    found, _ = kernel_tuner.tune_kernel(
        cache["kernel_name"], "__global__ void k() {}", tuple(cache["problem_size"]), [],
        cache["tune_params"], simulation_mode=True, cache=str(path), lang="CUDA", quiet=True,
        restrictions=[FunctionConstraint(lambda *values: ",".join(map(str, values)) in keys)],
        strategy="random_sample", strategy_options={"max_fevals": 20, "time_limit": 3600},
    )  # fmt: skip
    assert len(found) == 20, len(found)
    for result in found:
        key = ",".join(str(result[name]) for name in names)
        assert result["time"] == cache["cache"][key]["time"], key
    # And what Kernel Tuner writes comes back.
    written = folder / "theirs.json"
    store_output_file(str(written), found, cache["tune_params"])
    rows = t4.read(written)
    assert [one.time_ms for one in rows] == [one["time"] for one in found]


def models():
    """flashinfer_bench.data, without the package's own __init__."""
    root = Path(find_spec("flashinfer_bench").submodule_search_locations[0])
    for name, path in [("flashinfer_bench", root), ("flashinfer_bench.data", root / "data")]:
        module = types.ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
    utils = types.ModuleType("flashinfer_bench.utils")
    utils.dtype_str_to_torch_dtype = None
    sys.modules["flashinfer_bench.utils"] = utils
    return [importlib.import_module(f"flashinfer_bench.data.{name}")
            for name in ("definition", "workload", "solution", "trace")]  # fmt: skip


def check_flashinfer(folder):
    definition, workload, solution, trace = models()
    body = definition.Definition(**ours.definition())  # our samples are theirs, too
    workload.Workload(**ours.workload())
    (folder / "d.json").write_text(body.model_dump_json())  # as they write it
    lines = [{"definition": body.name, "workload": ours.workload("u-1", 3)}]
    (folder / "w.jsonl").write_text("\n".join(
        trace.Trace(**line).model_dump_json() for line in lines))  # fmt: skip
    notes = flashinfer.import_definition(folder / "d.json", folder / "w.jsonl", folder / "task")
    assert not notes, notes
    (folder / "mine.cu").write_text(ours.PROGRAM)
    made = solution.Solution(
        **flashinfer.solution(folder / "task", folder / "mine.cu", "mine", "warpsmith")
    )
    gemm = {"axes": {name: {"type": "const", "value": 64} for name in "mnk"}, "inputs": {}}
    gemm["inputs"] = {name: {"shape": list(shape), "dtype": "float16"}
                      for name, shape in {"a": "mk", "b": "nk"}.items()}  # fmt: skip
    gemm["outputs"] = {"c": {"shape": ["m", "n"], "dtype": "float16"}}
    gemm["reference"] = "def run(a, b):\n    return a @ b.T\n"
    body = definition.Definition(**ours.definition(**gemm))
    (folder / "gemm.json").write_text(body.model_dump_json())
    solution.Solution(**flashinfer.gemm_solution(folder / "gemm.json", "library", "warpsmith"))
    assert made.spec.language == "cuda" and made.get_entry_symbol() == "run"
    for outcome in ("passed", "incorrect", "compile-failed", "run-failed", "timed-out", "rejected"):
        document = flashinfer.trace(folder / "task", verdict_from(ours.row(outcome)), "u-1", "mine")
        read = trace.Trace(**json.loads(json.dumps(document)))
        assert read.is_successful() == (outcome == "passed"), outcome


def main():
    with tempfile.TemporaryDirectory() as name:
        check_kernel_tuner(Path(name))
        check_flashinfer(Path(name))


main()
