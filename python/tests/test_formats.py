"""The translators: what they write, what they read, what they refuse, and that they never crash.

The first argument is the checkout. The real packages are test_formats_contract.py's.
"""

import contextlib
import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECKOUT = Path(sys.argv[1])

from warpsmith import BadInput, verdict_from
from warpsmith.formats import flashinfer, gpumode, kernel_tuner, kernelbench, recording
from warpsmith.formats.__main__ import main

SPACE = CHECKOUT / "data/recordings/spaces/h200-64x128x8192.wsrec"
PROGRAM = 'extern "C" void launch_gpu_implementation(void*, const void*, const void*) {}\n'


def definition(**changes):
    body = {
        "name": "rmsnorm_h8", "op_type": "rmsnorm",
        "axes": {"rows": {"type": "var"}, "h": {"type": "const", "value": 8}},
        "inputs": {"x": {"shape": ["rows", "h"], "dtype": "float16"},
                   "w": {"shape": ["h"], "dtype": "float16"},
                   "eps": {"shape": None, "dtype": "float32"}},
        "outputs": {"y": {"shape": ["rows", "h"], "dtype": "float16"}},
        "reference": "import torch\n\ndef run(x, w, eps):\n    return x * w\n",
    }  # fmt: skip
    body.update(changes)
    return {name: value for name, value in body.items() if value is not ...}


def workload(uuid="u-1", rows=4, **changes):
    inputs = {"x": {"type": "random"}, "w": {"type": "random"},
              "eps": {"type": "scalar", "value": 1e-6}}  # fmt: skip
    return {"uuid": uuid, "axes": {"rows": rows}, "inputs": inputs, **changes}


def row(outcome="passed", **more):
    """A verdict as `evaluate --json` has it."""
    mode = {
        "mode": "wall", "floor_us": 2.0,
        "candidate": {"name": "candidate", "median_us": 4.0, "interval_us": [3.9, 4.1],
                      "samples": {"n": 2, "us": [3.9, 4.1]}},
        "baselines": [{"name": "torch-best (eager)", "median_us": 6.0}],
        "comparisons": [{"baseline": "torch-best (eager)", "ratio": 1.5, "interval": [1.4, 1.6],
                         "finding": "faster"}],
    }  # fmt: skip
    body = {"outcome": outcome, "evidence": {"device": "NVIDIA H200", "driver": "580",
                                             "date": "2026-11-22T10:00:00Z"}, **more}  # fmt: skip
    if outcome == "passed":
        body.update(level="certified", timings=[{"workload": "u-1", "modes": [mode]}],
                    correctness={"max_deviation": [0.25, 0.5], "worst_bound_fraction": 0.1,
                                 "outputs_verified": 9})  # fmt: skip
    return {"candidate": "c", "id": "1", "key": "2", "verdict": body}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def write(self, name, content):
        path = self.folder / name
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def left(self):
        return sorted(one.name for one in self.folder.iterdir())

    def command(self, *arguments):
        """Each argument is one word or several: "--name n"."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([word for one in arguments for word in str(one).split(" ")])
        return status, out.getvalue(), err.getvalue()

    def refused(self, words, *arguments, status=65):
        """One clear line, and nothing is written."""
        before = self.left()
        found, _, err = self.command(*arguments)
        self.assertEqual(found, status, err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn(words, err)
        self.assertEqual(self.left(), before)

    def imported(self):
        self.write("d.json", definition())
        self.write("w.jsonl", "\n".join(json.dumps(workload(f"u-{i}", i)) for i in (1, 5, 9)))
        if not (self.folder / "task").exists():
            status, _, err = self.command(
                f"flashinfer-import {self.folder}/d.json --workloads {self.folder}/w.jsonl",
                f"-o {self.folder}/task",
            )
            self.assertEqual(status, 0, err)
        return self.folder / "task"


class KernelTuner(Folder):
    def test_a_recorded_space_goes_out_and_comes_back(self):
        status, out, err = self.command("t4-export", SPACE, "-o", self.folder / "out")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(out.splitlines()), 6)
        space = recording.read(SPACE).spaces[0]
        names = {point.family for point in space.points}
        self.assertEqual(len(space.points), 1484)
        timed = 0
        for family in names:
            points = [one for one in space.points if one.family == family]
            for kind in ("t4", "cache"):
                rows = kernel_tuner.read(self.folder / f"out/{space.name}-{family}.{kind}.json")
                self.assertEqual(
                    [one.configuration for one in rows], [one.values for one in points]
                )
                self.assertEqual(
                    [one.time_ms and round(one.time_ms * 1000, 6) for one in rows],
                    [one.median_us and round(one.median_us, 6) for one in points],
                )
            timed += sum(1 for one in rows if one.time_ms is not None)
        self.assertEqual(timed, 1484)

    def test_a_failed_configuration_says_how(self):
        point = recording.read(SPACE).spaces[0].points[0]
        for outcome, validity in [
            ("compile-failed", "compile"),
            ("run-failed", "runtime"),
            ("timed-out", "timeout"),
            ("incorrect", "correctness"),
            ("rejected", "constraints"),
        ]:
            one = recording.Point(
                point.family, point.values, {"outcome": outcome}, None, [], "", None, 0
            )
            space = recording.Space("s", {"name": "t"}, {"sizes": {}}, [one, point])
            entry = kernel_tuner.t4(space, point.family, {})["results"][0]
            self.assertEqual((entry["invalidity"], entry["correctness"]), (validity, 0))
            self.assertIsInstance(
                next(iter(kernel_tuner.cache(space, point.family, {})["cache"].values()))["time"],
                (str, float),
            )

    def test_others_files_become_a_table(self):
        result = {
            "configuration": {"block": 64, "note": "a,b"},
            "invalidity": "correct",
            "correctness": 1,
            "times": {"runtimes": [3, 1, 2]},
        }
        late = {**result, "measurements": [{"name": "time", "value": 5, "unit": "us"}]}
        failed = {**result, "invalidity": "timeout", "times": {}}
        path = self.write("t4.json", {"schema_version": "1.0.0", "results": [result, late, failed]})
        status, out, _ = self.command("t4-table", path, "-o", self.folder / "t.csv")
        self.assertEqual((status, out.split(": ")[1]), (0, "3 configurations, 2 with a time\n"))
        self.assertEqual(
            (self.folder / "t.csv").read_text(),
            'block,note,validity,time_us\n64,"a,b",correct,2000\n64,"a,b",correct,5\n'
            '64,"a,b",timeout,\n',
        )
        # A cache file whose run was interrupted lacks its last braces.
        open_cache = (
            '{"tune_params_keys": ["b"], "cache": {\n"1": {"b": 1, "time": 0.5},\n'
            '"2": {"b": 2, "time": "RuntimeFailedConfig"},'
        )
        rows = kernel_tuner.read(self.write("open.json", open_cache))
        self.assertEqual(
            [(one.validity, one.time_ms) for one in rows], [("correct", 0.5), ("runtime", None)]
        )

    def test_refuses_what_is_none(self):
        good = {
            "configuration": {"b": 1},
            "invalidity": "correct",
            "correctness": 1,
            "times": {"runtimes": [1]},
        }

        def t4(**changes):
            return {"schema_version": "1.0.0", "results": [{**good, **changes}]}

        cases = {
            "has a time": t4(invalidity="compile"),
            "version '2.0.0'": {"schema_version": "2.0.0", "results": []},
            "invalidity is 'odd'": t4(invalidity="odd"),
            "expected an object, found list": t4(configuration=[]),
            "or no number": t4(times={"runtimes": [float("inf")]}),
            "finite number": json.dumps(t4(times={"runtimes": [7]})).replace("7", "1e999"),
            "unknown unit": t4(measurements=[{"name": "time", "value": 1, "unit": "weeks"}]),
            "neither T4": {"rows": []},
            "is no JSON": '{"results": [',
            "is not UTF-8": b"\xff\xfe{}",
            "nested too deeply": "[" * 100_000,
            "lacks one of": {"tune_params_keys": ["a"], "cache": {"1": {"b": 1, "time": 1}}},
        }
        for words, content in cases.items():
            with self.subTest(words):
                path = self.write("bad.json", content)
                self.refused(words, "t4-table", path, "-o", self.folder / "t.csv")
        self.refused(
            "no file", "t4-table", self.folder / "none", "-o", self.folder / "t.csv", status=66
        )
        path = self.write("good.json", t4())
        self.refused("no folder", "t4-table", path, "-o", self.folder / "no/t.csv", status=66)
        half = self.write("half.wsrec", SPACE.read_bytes()[:50_000])
        self.refused("half.wsrec", "t4-export", half, "-o", self.folder / "out")
        self.refused(
            "half.wsrec", "t4-export", self.write("half.wsrec", b"junk"), "-o", self.folder / "out"
        )
        (self.folder / "out").mkdir()
        self.refused("there already", "t4-export", SPACE, "-o", self.folder / "out", status=78)


class FlashInfer(Folder):
    def test_a_definition_becomes_a_task(self):
        task = self.imported()
        text = (task / "task.toml").read_text()
        for part in [
            'name = "x", dtype = "f16", role = "input", shape = ["rows", "h"]',
            'name = "u-5"\nsizes = { rows = 5, h = 8 }',
            'precision = "native"',
            'name = "u-9"\nsizes = { rows = 9, h = 8 }\nhidden = true',
            'arguments = ["y", "x", "w", "rows", "h"]',
            "absolute = 0.01",
        ]:
            self.assertIn(part, text)
        self.assertIn(
            "def reference(x, w):\n    found = definition.run(x, w, 1e-06)",
            (task / "reference.py").read_text(),
        )
        self.assertEqual((task / "definition.py").read_text(), definition()["reference"])
        self.refused("there already", f"flashinfer-import {self.folder}/d.json --workloads",
                     self.folder / "w.jsonl", "-o", task, status=78)  # fmt: skip

    def test_the_sol_dialect_has_expressions_and_tolerances(self):
        body = definition(
            axes={
                "rows": {"type": "var"},
                "h": {"type": "const", "value": 8},
                "half": {"type": "expr", "expression": "h // 2"},
            }
        )
        body["outputs"]["y"]["shape"] = ["rows", "half", "1"]
        lines = [
            workload(f"u-{i}", i, tolerance={"max_atol": i / 10, "max_rtol": 0.5}) for i in (1, 2)
        ]
        self.write("d.json", body)
        self.write("w.jsonl", "\n".join(map(json.dumps, lines)))
        flashinfer.import_definition(
            self.folder / "d.json", self.folder / "w.jsonl", self.folder / "t"
        )
        text = (self.folder / "t/task.toml").read_text()
        self.assertIn('shape = ["rows", "h / 2", "1"]', text)
        self.assertIn("absolute = 0.2\nrelative = 0.5\n", text)

    def test_a_workload_that_a_task_cannot_hold_is_left_out_in_words(self):
        stored = workload("u-2")
        stored["inputs"]["x"] = {"type": "safetensors", "path": "/etc/passwd", "tensor_key": "k"}
        other = workload("u-3")
        other["inputs"] = {**other["inputs"], "eps": {"type": "scalar", "value": 0.5}}
        lines = [workload(), stored, other, workload("u-4", rows=0), workload(rows=7)]
        self.write("d.json", definition())
        self.write("w.jsonl", "\n".join(map(json.dumps, lines)))
        notes = flashinfer.import_definition(
            self.folder / "d.json", self.folder / "w.jsonl", self.folder / "t"
        )
        for note, words in zip(
            notes, ["safetensors", "other scalars", "from 1", "again"], strict=True
        ):
            self.assertIn(words, note)
        self.assertEqual((self.folder / "t/task.toml").read_text().count("[[workloads]]"), 1)

    def test_refuses_what_is_none(self):
        def tensors(**specs):
            return {
                name: {"shape": ["rows"], "dtype": "float16", **spec}
                for name, spec in specs.items()
            }

        cases = {
            "has no reference": definition(reference=...),
            "defines no function run": definition(reference="x = 1"),
            "is no Python": definition(reference="def run(:"),
            "is of float8_e4m3fn": definition(outputs=tensors(y={"dtype": "float8_e4m3fn"})),
            "names the axis 'k'": definition(outputs=tensors(y={"shape": ["k"]})),
            "is no identifier": definition(outputs=tensors(**{"../../y": {}})),
            "'x;system(1)' is no identifier": definition(outputs=tensors(**{"x;system(1)": {}})),
            "word of Python or C++": definition(outputs=tensors(**{"lambda": {}})),
            "has the name of another": definition(outputs=tensors(x={})),
            "has no output": definition(outputs={}),
            "expected an object, found list": definition(axes=[]),
            "name": definition(name=""),
        }
        rest = ("--workloads", self.write("w.jsonl", workload()), "-o", self.folder / "task")
        for words, body in cases.items():
            with self.subTest(words):
                path = self.write("d.json", body)
                self.refused(words, "flashinfer-import", path, *rest)
        path = self.write("d.json", definition())
        self.refused("no workload can be", "flashinfer-import", path, "-o", self.folder / "task")
        self.write("w.jsonl", '{"uuid": ')
        self.refused("w.jsonl:1: is no JSON", "flashinfer-import", path, *rest)

    def test_a_uuid_or_a_name_cannot_leave_its_folder(self):
        self.write("d.json", definition(name='../../x"\n[reference]'))
        self.write("w.jsonl", workload('../../etc/"\n[[workloads]]'))
        flashinfer.import_definition(
            self.folder / "d.json", self.folder / "w.jsonl", self.folder / "t"
        )
        self.assertEqual(self.left(), ["d.json", "t", "w.jsonl"])
        text = (self.folder / "t/task.toml").read_text()
        self.assertIn(r'name = "../../x\"\n[reference]"', text)
        self.assertEqual(text.count("\n[[workloads]]"), 1)

    def test_a_program_becomes_a_solution(self):
        task = self.imported()
        source = self.write("mine.cu", PROGRAM)
        for dialect, binding, export in [
            ("flashinfer", "tvm-ffi", "TVM_FFI_DLL_EXPORT_TYPED_FUNC"),
            ("sol-execbench", "torch", "PYBIND11_MODULE"),
        ]:
            out = self.folder / f"{dialect}.json"
            status, _, err = self.command(
                f"flashinfer-solution {task} {source} --name n --author a",
                f"--dialect {dialect} -o {out}",
            )
            self.assertEqual(status, 0, err)
            solution = json.loads(out.read_text())
            self.assertEqual(solution["spec"]["binding"], binding)
            text = solution["sources"][0]["content"]
            self.assertLess(text.index(PROGRAM), text.index("void Run("))
            for part in [
                export,
                "double eps",
                "const int64_t rows = x.size(0);",
                "launch_gpu_implementation(WarpsmithPointer{y.data_ptr()}",
            ]:
                self.assertIn(part, text)
        rest = ("--name n --author a -o", self.folder / "s.json")
        kernel = self.write(
            "candidate.json", {"version": 1, "entry": "k.cu", "sources": {"k.cu": ""}}
        )
        self.refused("launch plan", "flashinfer-solution", task, kernel, *rest)
        outside = self.write(
            "candidate.json",
            {"version": 1, "form": "program", "entry": "../k.cu", "sources": {"../k.cu": ""}},
        )
        self.refused("outside its folder", "flashinfer-solution", task, outside, *rest)

    def test_the_library_becomes_a_solution_of_products_alone(self):
        def product(b=("n", "k"), dtype="bfloat16", **changes):
            axes = {"m": {"type": "var"}, "n": {"type": "const", "value": 8}, "k": {"value": 4}}

            def tensor(shape):
                return {"shape": list(shape), "dtype": dtype}

            return definition(
                axes=axes,
                inputs={"a": tensor("mk"), "b": tensor(b)},
                outputs={"c": tensor("mn")},
                **changes,
            )

        options = ["--name", "n", "--author", "a", "-o", self.folder / "s.json"]
        for b, transposed in [("nk", ".T"), ("kn", "")]:
            path = self.write("d.json", product(b))
            self.assertEqual(self.command("flashinfer-solution", path, *options)[0], 0)
            text = json.loads((self.folder / "s.json").read_text())["sources"][0]["content"]
            self.assertIn(f"warpsmith.matmul(a, b{transposed}, out=c)", text)
        for words, body in [
            ("product of f16", product(dtype="float32")),
            ("product of f16", product("nn")),
            ("no product", definition()),
        ]:
            self.refused(words, "flashinfer-solution", self.write("d.json", body), *options)

    def test_a_verdict_becomes_a_trace(self):
        task = self.imported()
        trace = flashinfer.trace(task, verdict_from(row()), "u-1", "n")
        self.assertEqual(trace["workload"]["uuid"], "u-1")
        self.assertEqual(
            trace["evaluation"]["performance"],
            {"latency_ms": 0.004, "reference_latency_ms": 0.006, "speedup_factor": 1.5},
        )
        self.assertEqual(trace["evaluation"]["correctness"]["max_absolute_error"], 0.5)
        # 1 / (1 + (4 - 2) / (6 - 2))
        self.assertAlmostEqual(flashinfer.sol_score(verdict_from(row())), 2 / 3)
        for outcome, status in [
            ("incorrect", "INCORRECT_NUMERICAL"),
            ("rejected", "RUNTIME_ERROR"),
            ("compile-failed", "COMPILE_ERROR"),
            ("timed-out", "TIMEOUT"),
        ]:
            failed = verdict_from(row(outcome, detail="because"))
            evaluation = flashinfer.trace(task, failed, "u-1", "n")["evaluation"]
            self.assertEqual((evaluation["status"], evaluation["log"]), (status, "because"))
            self.assertNotIn("performance", evaluation)
            self.assertIsNone(flashinfer.sol_score(failed))
        self.assertIsNone(flashinfer.trace(task, verdict_from(row("inconclusive")), "u-1", "n"))
        with self.assertRaisesRegex(BadInput, "no workload 'u-7'"):
            flashinfer.trace(task, verdict_from(row()), "u-7", "n")
        path = self.write(
            "e.json",
            {
                "schema": "warpsmith.evaluation",
                "version": 1,
                "verdicts": [row(), row("inconclusive")],
            },
        )
        status, out, err = self.command(
            "flashinfer-traces", task, path, "--solution n --workload u-1 -o", self.folder / "t.jsonl"
        )
        self.assertEqual(
            (status, len((self.folder / "t.jsonl").read_text().splitlines())), (0, 1), err
        )
        self.assertIn("SOL-Score 0.667", out)


MODEL = """import torch


class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.fc = torch.nn.Linear(features, features)

    def forward(self, x, scale):
        return self.fc(x) * scale
"""
KERNELBENCH_TASK = r"""version = 1
name = "level1/1 x"
tensors = [
  { name = "output", dtype = "f32", role = "output", shape = [2, 3] },
  { name = "x", dtype = "f32", role = "input", shape = [2, 3], generator = "reference" },
  { name = "fc_weight", dtype = "f32", role = "input", shape = [3, 3], generator = "reference" },
  { name = "param_x", dtype = "f32", role = "input", shape = [3], generator = "reference" },
]
[reference]
kind = "torch"
style = "module"
source = "model.py"
[program]
declaration = '''extern "C" void launch_gpu_implementation(void*, const void*, double, const void*, \
const void*)'''
arguments = ["output", "x", "2.5", "fc_weight", "param_x"]
"""


TASK_YML = """# name: rowsum
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "../eval.py"}
lang: "py"
tests:
  - {"rows": 3, "columns": 5, "seed": 1}
benchmarks:
  - {"rows": 64, "columns": 32, "seed": 2}
  - {"rows": 64, "columns": 128, "seed": 3}
"""
REFERENCE = """import torch
from utils import make_match_reference


def ref_kernel(data):
    x, options, sums = data
    sums[...] = x.sum(1) * options["by"]
    return sums


def generate_input(rows, columns, seed):
    print("drawn")
    gen = torch.Generator(device="cuda")
    gen.manual_seed(seed)
    x = torch.randn(rows, columns, device="cuda", generator=gen)
    return x, {"by": 2.0, "unused": torch.ones(rows, device="cuda")}, torch.empty(rows, device="cuda")


check_implementation = make_match_reference(ref_kernel, rtol=1e-3, atol=2e-3)
"""


def drawn(rows, columns, **changes):
    """What the probe says of a spec."""
    x = {"input": {"shape": [rows, columns], "dtype": "float32"}}
    options = {"dict": {"by": {"value": 2.0}, "unused": {"input": {"shape": [rows], "dtype": "float32"}}}}
    sums = {"shape": [rows], "dtype": "float32"}
    return {"data": {"tuple": [x, options, {"place": sums}]}, "single": True,
            "outputs": [{**sums, "place": 2}], **changes}  # fmt: skip


@unittest.skipUnless(importlib.util.find_spec("yaml"), "no YAML here")
class GpuMode(Folder):
    def problem(self, text=TASK_YML, reference=REFERENCE):
        folder = self.folder / "problems/rowsum"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "task.yml").write_text(text)
        (folder / "reference.py").write_text(reference)
        (folder / "task.py").write_text("input_t = output_t = tuple\n")
        (folder.parent / "utils.py").write_text("def make_match_reference(*a, **named): pass\n")
        return folder

    def answering(self, cases):
        before = gpumode.probe
        self.addCleanup(setattr, gpumode, "probe", before)
        gpumode.probe = lambda sources, specs: cases

    def test_a_problem_becomes_a_task_and_a_program_a_submission(self):
        if importlib.util.find_spec("torch") is None:
            self.answering([drawn(64, 32), drawn(64, 128), drawn(3, 5)])
        task = self.folder / "task"
        status, _, err = self.command("gpumode-import", self.problem(), "-o", task)
        self.assertEqual((status, err), (0, ""))
        text = (task / "task.toml").read_text()
        for part in [
            'name = "x", dtype = "f32", role = "input", shape = ["rows", "columns"]',
            'name = "options", dtype = "f32", role = "input", shape = ["rows"]',
            'name = "sums", dtype = "f32", role = "output", shape = ["rows"]',
            'arguments = ["sums", "x", "options", "rows", "columns"]',
            "absolute = 0.002\nrelative = 0.001",
            'name = "benchmark-1"\nsizes = { case = 1, rows = 64, columns = 128 }\n\n',
            'name = "test-0"\nsizes = { case = 2, rows = 3, columns = 5 }\nhidden = true',
            'sources = ["judged.py", "cases.py", "task.py", "utils.py", "reference.py"]',
        ]:
            self.assertIn(part, text)
        for name in ("judged.py", "cases.py"):
            compile((task / name).read_text(), name, "exec")
        self.assertIn("def reference(x, options, *, case)", (task / "judged.py").read_text())
        self.write("mine.cu", PROGRAM)
        made = self.folder / "submission.py"
        arguments = ("gpumode-submission", task, self.folder / "mine.cu", "-o", made)
        self.assertEqual(self.command(*arguments, "--leaderboard", "rowsum_v2")[0], 0)
        text = made.read_text()
        self.assertTrue(text.startswith("#!POPCORN leaderboard rowsum_v2\n#!POPCORN gpu H100\n"))
        compile(text, "submission.py", "exec")
        self.assertIn("_KINDS = ['input', 'input', 'place']\n_OUTPUTS = [2]", text)
        made.unlink()
        self.refused("is no plain name", *arguments, "--leaderboard", "x\nimport")

    @unittest.skipUnless(importlib.util.find_spec("torch"), "no torch here")
    def test_the_task_computes_what_the_problem_does(self):
        self.command("gpumode-import", self.problem(), "-o", self.folder / "task")
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import torch\n"
            "def on_cpu(f): return lambda *a, device=None, **n: f(*a, **n)\n"
            "for name in ('randn', 'ones', 'empty', 'Generator'):\n"
            "    setattr(torch, name, on_cpu(getattr(torch, name)))\n"
            "import judged\n"
            "torch.manual_seed(7); a = judged.get_inputs(1); b = judged.get_inputs(1)\n"
            "assert [tuple(one.shape) for one in a] == [(64, 128), (64,)]\n"
            "assert not torch.equal(a[0], b[0])\n"
            "assert torch.equal(judged.reference(*a, case=1), a[0].sum(1) * 2)\n"
        )
        done = subprocess.run([sys.executable, "-c", code, str(self.folder / "task")],
                              capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_refuses_what_no_task_can_hold(self):
        good = [drawn(64, 32), drawn(64, 128), drawn(3, 5)]
        odd = drawn(3, 5, outputs=[{"shape": [3], "dtype": "uint8", "place": None}])
        place = {"shape": [3], "dtype": "float32"}
        scalar = drawn(3, 5, data={"tuple": [{"place": place}]}, outputs=[{**place, "place": 0}])
        own = REFERENCE.replace("make_match_reference(", "some_way(")
        cases = [
            ("is no YAML", "files: [", REFERENCE, good),
            ("aliases are not read", "a: &a 1\nb: *a\n", REFERENCE, good),
            ("is no YAML", "!!python/object/apply:os.system ['true']", REFERENCE, good),
            ("expected a list, found NoneType", "lang: py", REFERENCE, good),
            ("its lang is 'cu'", TASK_YML.replace('"py"', "cu"), REFERENCE, good),
            ("several GPUs", TASK_YML + "multi_gpu: true\n", REFERENCE, good),
            ("lies outside", TASK_YML.replace("../utils.py", "/etc/passwd"), REFERENCE, good),
            ("lies outside", TASK_YML.replace("../utils.py", "../../../../x.py"), REFERENCE, good),
            ("no plain name", TASK_YML.replace('"utils.py"', '"../x.py"'), REFERENCE, good),
            ("no reference.py", TASK_YML.replace('"reference.py"', '"other.py"', 1), REFERENCE, good),
            ("0 benchmarks and tests", TASK_YML.split("tests:")[0], REFERENCE, good),
            ("is neither number nor text", TASK_YML.replace("64", "[64]"), REFERENCE, good),
            ("in a way of its own", TASK_YML, own, good),
            ("is of uint8", TASK_YML, REFERENCE, [odd] * 3),
            ("another structure", TASK_YML, REFERENCE, [*good[:2], scalar]),
            ("draws no tensor", TASK_YML, REFERENCE, [scalar] * 3),
        ]
        for words, text, reference, answer in cases:
            with self.subTest(words):
                self.answering(answer)
                self.refused(words, "gpumode-import", self.problem(text, reference), "-o",
                             self.folder / "task")  # fmt: skip


class HuggingFace(Folder):
    def test_refuses_what_is_no_library_or_pack(self):
        library = self.write("lib.so", b"\x7fELF")
        pack = self.write("gemm.wspack", b"warpsmith gemm pack, version 1\n")
        out = self.folder / "out"

        def refused(words, *arguments, **named):
            self.refused(words, "huggingface-kernel", "-o", out, *arguments, **named)

        refused("is no shared library", "--library", pack, "--pack", pack)
        refused("is no pack", "--library", library, "--pack", library)
        refused("no file", "--library", library, "--pack", self.folder / "none", status=66)
        both = ("--library", library, "--pack", pack)
        refused("no version", *both, "--cuda", "13/../..")
        refused("begin with 1", *both, "--version", "0")
        status, listed, err = self.command("huggingface-kernel", "-o", out, *both)
        self.assertEqual((status, err), (0, ""))
        for variant in listed.split():
            metadata = json.loads((Path(variant) / "metadata.json").read_text())
            self.assertEqual(sorted([*metadata["digest"]["files"], "metadata.json"]), sorted(
                str(one.relative_to(variant)) for one in Path(variant).rglob("*") if one.is_file()))
            for file in Path(variant).glob("*.py"):
                compile(file.read_text(), str(file), "exec")
        refused("there already", *both, status=78)


class KernelBench(Folder):
    def problem(self):
        task = self.folder / "1_x"
        task.mkdir(exist_ok=True)
        (task / "task.toml").write_text(KERNELBENCH_TASK)
        (task / "model.py").write_text(MODEL)
        return task

    def test_a_program_becomes_a_model_new(self):
        source = self.write("mine.cu", PROGRAM + "// ''' \"\"\" \\n {braces}\n")
        out = self.folder / "new.py"
        status, _, err = self.command(
            "kernelbench-model", self.problem(), source, "--arch", "sm_90a", "-o", out
        )
        self.assertEqual(status, 0, err)
        text = out.read_text()
        compile(text, "new.py", "exec")
        for part in [
            MODEL.strip(),
            "class ModelNew(Model):",
            '"TORCH_CUDA_ARCH_LIST", "9.0a"',
            "_OUTPUTS = [([2, 3], 'float32')]",
            "_PARAMETERS = ['fc_weight', 'x']",
        ]:
            self.assertIn(part, text)
        cuda = next(line for line in text.splitlines() if line.startswith("_CUDA = "))
        cuda = eval(cuda.removeprefix("_CUDA = "))
        self.assertIn("{braces}", cuda)
        self.assertIn("torch::Tensor& param_x = tensors.at(3);", cuda)
        self.assertIn("WarpsmithPointer{x.data_ptr()}, 2.5, ", cuda)

    def test_refuses_what_is_no_problem(self):
        source = self.write("mine.cu", PROGRAM)
        task = self.problem()
        (task / "model.py").write_text("class Other: pass\n")
        self.refused(
            "no class Model", "kernelbench-model", task, source, "-o", self.folder / "n.py"
        )
        (task / "task.toml").write_text('[reference]\nstyle = "function"\n')
        self.refused(
            "no KernelBench problem", "kernelbench-model", task, source, "-o", self.folder / "n.py"
        )
        (task / "task.toml").write_text("[reference")
        self.refused("is no TOML", "kernelbench-model", task, source, "-o", self.folder / "n.py")

    def test_verdicts_become_eval_results(self):
        document = {
            "schema": "warpsmith.evaluation",
            "version": 1,
            "verdicts": [
                row(),
                row("incorrect", detector="bound", detail="off"),
                row("inconclusive"),
            ],
        }
        path = self.write("e.json", document)
        status, _, err = self.command(
            "kernelbench-results", f"14={path}", "-o", self.folder / "r.json"
        )
        self.assertEqual(status, 0, err)
        passed, wrong = json.loads((self.folder / "r.json").read_text())["14"]
        self.assertEqual(
            (passed["correctness"], passed["runtime"], passed["ref_runtime"]), (True, 0.004, 0.006)
        )
        self.assertEqual(passed["runtime_stats"]["num_trials"], 2)
        self.assertEqual(
            (wrong["compiled"], wrong["correctness"], wrong["runtime"]), (True, False, -1)
        )
        self.assertEqual(wrong["metadata"]["error"], "bound: off")
        self.refused("PROBLEM=", "kernelbench-results", "x", "-o", self.folder / "n.json")
        path = self.write("e.json", {**document, "version": 2})
        self.refused("version 1", "kernelbench-results", f"1={path}", "-o", self.folder / "n.json")

    def test_kernelbench_problems_of_the_catalogue_are_read(self):
        evidence = CHECKOUT / "data/maic/certified/kernelbench/level1_014.json"
        verdict = verdict_from(json.loads(evidence.read_text())["verdicts"][0])
        entry = kernelbench.eval_result(verdict)
        self.assertTrue(entry["correctness"])
        self.assertLess(entry["runtime"], entry["ref_runtime"])


class Hostile(Folder):
    """Mutations of good files are read or refused, and never anything else."""

    ROUNDS = int(os.environ.get("WARPSMITH_FUZZ_ROUNDS", "400"))

    def mutated(self, text, dice):
        data = bytearray(text.encode())
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data) + 1)
            kind = dice.randrange(5)
            if kind == 0:
                del data[at : at + dice.randint(1, 40)]
            elif kind == 1:
                data[at:at] = dice.choice(
                    b'{ ] " \\u0000 1e999 null -1 [] \xff ../ 99999999999999999999 NaN'.split()
                )
            elif kind == 2 and at < len(data):
                data[at] = dice.randrange(256)
            elif kind == 3:
                del data[at:]
            else:
                start = dice.randrange(len(data) + 1)
                data[at:at] = data[start : start + dice.randint(1, 60)]
        return bytes(data)

    def hold(self, good, call):
        dice = random.Random(4711)
        refused = 0
        for _ in range(self.ROUNDS):
            path = self.write("fuzz", self.mutated(good, dice))
            try:
                call(path)
            except BadInput as error:
                refused += 1
                self.assertNotIn("\n", error.message)
            self.assertFalse([name for name in self.left() if name.startswith(".")])
        self.assertGreater(refused, self.ROUNDS // 10)
        self.assertLess(refused, self.ROUNDS)

    def remove(self, name):
        for file in sorted((self.folder / name).rglob("*")):
            file.unlink()
        if (self.folder / name).exists():
            (self.folder / name).rmdir()

    def test_t4_and_caches(self):
        space = recording.read(SPACE).spaces[0]
        few = recording.Space(space.name, space.task, space.workload, space.points[:3])
        family = few.points[0].family
        for document in (kernel_tuner.t4(few, family, {}), kernel_tuner.cache(few, family, {})):
            self.hold(
                json.dumps(document), lambda path: kernel_tuner.table(kernel_tuner.read(path))
            )

    def test_definitions(self):
        self.write("w.jsonl", workload())

        def take(path):
            try:
                flashinfer.import_definition(path, self.folder / "w.jsonl", self.folder / "t")
            finally:
                self.remove("t")

        self.hold(json.dumps(definition()), take)

    def test_workloads(self):
        self.write("d.json", definition())

        def take(path):
            try:
                flashinfer.import_definition(self.folder / "d.json", path, self.folder / "t")
            finally:
                self.remove("t")

        lines = [json.dumps(workload(f"u-{i}", i)) for i in (1, 2)]
        self.hold("\n".join(lines), take)

    def test_recordings(self):
        header = {"warpsmith_recording": 1, "counts": {"verdicts": 1}, "device": {}}
        space = {
            "space": 0,
            "name": "s",
            "task": {"name": "t"},
            "workload": {"sizes": {"n": 1}},
            "points": [["f", {"a": 1}]],
        }
        verdict = {
            "verdict": "k",
            "at": [0, 0],
            "body": {"outcome": "passed"},
            "contenders": [{"at": [0, 0, 0], "median_us": 1.5, "us": [1.5], "name": "c"}],
        }
        text = "\n".join(map(json.dumps, (header, space, verdict)))
        before = recording._decompressed
        self.addCleanup(setattr, recording, "_decompressed", before)
        recording._decompressed = lambda path: path.read_bytes()

        def take(path):
            try:
                kernel_tuner.export(recording.read(path), self.folder / "t")
            finally:
                self.remove("t")

        self.hold(text, take)

    @unittest.skipUnless(importlib.util.find_spec("yaml"), "no YAML here")
    def test_problems(self):
        self.addCleanup(setattr, gpumode, "probe", gpumode.probe)
        gpumode.probe = lambda sources, specs: [drawn(8 * i, 3) for i in range(1, len(specs) + 1)]
        (self.folder / "reference.py").write_text(REFERENCE)

        def take(path):
            try:
                gpumode.import_problem(path, self.folder / "t")
            finally:
                self.remove("t")

        here = TASK_YML.replace("../", "").replace('"utils.py"', '"task.py"', 1)
        (self.folder / "task.py").write_text("x = 1\n")
        (self.folder / "utils.py").write_text("x = 1\n")
        self.hold(here, take)

    def test_evaluations(self):
        def take(path):
            status, _, err = self.command(
                "kernelbench-results", f"1={path}", "-o", self.folder / "r"
            )
            if status != 0:
                self.assertEqual(err.count("\n"), 1, err)
                raise BadInput("bad-input", err.strip())

        document = {"schema": "warpsmith.evaluation", "version": 1, "verdicts": [row()]}
        self.hold(json.dumps(document), take)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
