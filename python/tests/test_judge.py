"""evaluate, Session and the errors, on a recording: no GPU, no compiler, no torch.

WARPSMITH_PROGRAM names the program; the first argument is the folder of recordings.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RECORDINGS = Path(sys.argv.pop(1))
_home = tempfile.TemporaryDirectory()
os.environ["XDG_DATA_HOME"] = os.environ["HOME"] = _home.name

import warpsmith
from warpsmith import _program

TASK = "hgemm:512x512x512:TN"
OPTIONS = {"device": RECORDINGS / "h200-hgemm.wsrec"}


def exported():
    """A candidate that the recording knows: the best of a short tuning, as JSON."""
    folder = Path(_home.name) / "best"
    if not folder.exists():

        def run(*argv):
            command = [warpsmith.program(), *argv, "--store", f"{_home.name}/s.db"]
            subprocess.run(command, check=True, capture_output=True)

        run("hgemm", "tune", "--device", str(OPTIONS["device"]), "--shapes", "512x512x512", "--run",
            "t", "--budget", "evals=10", "--finalists", "0")  # fmt: skip
        run("export", "t/512x512x512", "-o", str(folder))
    return json.loads((folder / "candidate.json").read_text())


class Judging(unittest.TestCase):
    def test_a_recorded_candidate_has_a_typed_verdict(self):
        verdict = warpsmith.evaluate(TASK, exported(), **OPTIONS)
        self.assertTrue(verdict.passed, verdict)
        self.assertEqual(
            (verdict.outcome, verdict.reason, verdict.level), ("passed", "", "screened")
        )
        mode = verdict.modes[0]
        self.assertGreater(mode.median_us, mode.floor_us)
        self.assertLess(mode.interval_us.low, mode.interval_us.high)
        self.assertEqual(len(mode.samples_us), 6)
        self.assertEqual(verdict.comparison.baseline, "cublaslt-auto")
        self.assertAlmostEqual(
            verdict.ratio, mode.baselines_us["cublaslt-auto"] / mode.median_us, delta=0.05
        )
        self.assertEqual(verdict.evidence["device"], "NVIDIA H200")
        self.assertEqual(verdict.document["outcome"], "passed")

    def test_a_path_and_a_plan_are_candidates_too(self):
        candidate = exported()
        from_path = warpsmith.evaluate(TASK, Path(_home.name) / "best", **OPTIONS)
        with warpsmith.Session(TASK, **OPTIONS) as session:
            with self.assertRaises(warpsmith.NotRecorded):
                session.evaluate('extern "C" __global__ void hgemm() {}', candidate["plan"])
            again = session.evaluate(candidate)
            with self.assertRaises(TypeError):
                session.evaluate(candidate, candidate["plan"])
        self.assertEqual(from_path.key, again.key)

    def test_many_go_through_one_process_and_keep_their_order(self):
        good = exported()
        unknown = {**good, "sources": {name: text + "\n" for name, text in good["sources"].items()}}
        with warpsmith.Session(TASK, **OPTIONS) as session:
            pid = session._process.pid
            self.assertEqual(session.evaluate_many([]), [])
            answers = session.evaluate_many([good, unknown, Path("/no/such.cu"), good])
            kinds = [type(one).__name__ for one in answers]
            self.assertEqual(kinds, ["Verdict", "NotRecorded", "BadInput", "Verdict"])
            self.assertTrue(session.evaluate(good).passed)
            self.assertEqual((pid, session._process.poll()), (session._process.pid, None))
        with self.assertRaisesRegex(warpsmith.Error, "closed"):
            session.evaluate(good)
        session.close()


class Refusals(unittest.TestCase):
    def test_are_the_programs(self):
        statuses = dict(_program.EXIT_STATUSES)
        page = subprocess.run([warpsmith.program(), "exit-codes"], capture_output=True, text=True)
        for line in page.stdout.splitlines():
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) > 3 and cells[1].isdigit():
                self.assertEqual(statuses.pop(cells[2], None), int(cells[1]), line)
        self.assertEqual(statuses, {})

    def test_name_what_is_wrong(self):
        malformed = Path(_home.name) / "task.toml"
        malformed.write_text("version = ")
        cases = [
            (warpsmith.BadInput, 66, "/no/such/task", {}),
            (warpsmith.Error, 68, TASK, {"device": "/no/such.wsrec"}),
            (warpsmith.BadInput, 65, malformed, {}),
        ]
        for kind, status, task, options in cases:
            with self.subTest(task=task, options=options), self.assertRaises(kind) as caught:
                warpsmith.evaluate(task, exported(), **options)
            self.assertEqual(caught.exception.exit_status, status, caught.exception)
            self.assertTrue(caught.exception.message)

    def test_a_task_that_no_recording_knows_needs_a_gpu(self):
        if Path("/dev/nvidiactl").exists():
            self.skipTest("a GPU is here")
        task = Path(_home.name) / "task"
        task.mkdir()
        (task / "task.toml").write_text(
            'version = 1\nname = "t"\ntensors = [\n'
            '  { name = "x", dtype = "f32", role = "input", shape = ["n"] },\n'
            '  { name = "y", dtype = "f32", role = "output", shape = ["n"] },\n]\n'
            '[reference]\nkind = "torch"\nsource = "reference.py"\nstyle = "function"\n'
            '[program]\ndeclaration = "void run(void* y, const void* x, int64_t n)"\n'
            'arguments = ["y", "x", "n"]\n[tolerance]\nreduction_length = 1\n'
            '[[workloads]]\nname = "w"\nsizes = { n = 5 }\n'
        )
        (task / "reference.py").write_text("def reference(x):\n    return x\n")
        with self.assertRaises(warpsmith.NeedsGpu) as caught:
            warpsmith.evaluate(task, "no C++ at all")
        self.assertEqual(caught.exception.exit_status, 69)
        self.assertIn("needs an NVIDIA GPU; none here", caught.exception.message)
        self.assertIn("three ways", caught.exception.fix)

    def test_a_program_that_dies_is_an_error_with_its_last_words(self):
        fake = Path(_home.name) / "fake"
        fake.write_text("#!/bin/sh\necho 'first' >&2; printf 'last\\033[2J' >&2; exit 3\n")
        fake.chmod(0o755)
        warpsmith.program.cache_clear()
        before = os.environ["WARPSMITH_PROGRAM"]
        try:
            os.environ["WARPSMITH_PROGRAM"] = str(fake)
            with self.assertRaisesRegex(warpsmith.Error, r"exit status 3: last\?\[2J"):
                warpsmith.evaluate(TASK, "text")
            warpsmith.program.cache_clear()
            os.environ["WARPSMITH_PROGRAM"] = "/no/such/program"
            with self.assertRaisesRegex(warpsmith.BadInput, "WARPSMITH_PROGRAM"):
                warpsmith.evaluate(TASK, "text")
        finally:
            os.environ["WARPSMITH_PROGRAM"] = before
            warpsmith.program.cache_clear()


class Import(unittest.TestCase):
    def test_without_torch_matmul_says_what_it_needs(self):
        code = "import sys, warpsmith; sys.modules['torch'] = None; warpsmith.matmul"
        process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        last = process.stderr.splitlines()[-1]
        self.assertRegex(last, "^ImportError: warpsmith.matmul takes .* has no torch: .*pip install")

    def test_takes_no_torch(self):
        code = "import sys, warpsmith; sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)
        with self.assertRaises(AttributeError):
            warpsmith.no_such_name  # noqa: B018


if __name__ == "__main__":
    unittest.main()
