"""The program under test, as the classes of faults.py see it."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
LIMIT_S = 120  # no command here takes a tenth of it
SMALL = "small.wsrec"  # in every program's folder: two of the shipped recording's spaces
TUNE = ["--shapes", "64x64x64,128x128x128", "--device", SMALL, "--budget", "evals=60"]
TUNE += ["--finalists", "1", "--seed", "3", "--quiet"]
AGENT = CHECKOUT / "data/recordings/agent/softmax-f16.wsrec"
RESULT = CHECKOUT / "tests/fuzz/seeds/bundle/results"


class Failure(Exception):
    """A promise that did not hold; the text says which."""


class Skip(Exception):
    """What this machine lacks for a class; the text says how to get it."""


@functools.cache
def small_recording() -> bytes:
    """The first two spaces of the shipped recording, read in a fiftieth of the time."""
    whole = CHECKOUT / "data/recordings/h200-hgemm.wsrec"
    if shutil.which("zstd") is None:  # the same, slower
        return whole.read_bytes()
    text = subprocess.run(["zstd", "-dcq", whole], capture_output=True, check=True).stdout.decode()
    header, *lines = text.splitlines()
    names = [json.loads(line)["name"] for line in lines if line.startswith('{"space":')][:2]
    kept: dict[str, list[str]] = {}
    used: set[str] = set()
    for line in lines:
        kind = line[2 : line.index('"', 2)]
        if kind == "source":
            continue
        if kind in ("candidate", "verdict"):
            is_kept = re.search(r'(?:"candidate":|"at":)\[[01],', line[:120])
            used.update(re.findall(r'"([0-9a-f]{64})"', line) if kind == "candidate" and is_kept else [])
        else:
            is_kept = kind == "protocol" or json.loads(line)[
                "name" if kind == "space" else "space"] in names  # fmt: skip
        if is_kept:
            kept.setdefault(kind, []).append(line)
    kept["source"] = [line for line in lines if line.startswith('{"source":') and line[11:75] in used]
    counts = {kind + "s": len(kept.get(kind, []))
              for kind in ("baseline", "candidate", "protocol", "source", "space", "verdict")}  # fmt: skip
    header = re.sub(r'"counts":\{[^}]*\}', f'"counts":{json.dumps(counts)}', header)
    order = ("protocol", "source", "space", "candidate", "verdict", "baseline")
    text = "\n".join([header, *(line for kind in order for line in kept.get(kind, []))]) + "\n"
    packed = subprocess.run(["zstd", "-cq"], input=text.encode(), capture_output=True, check=True)
    return packed.stdout


class Program:
    """The program under test, in a folder of its own and with nothing of the user's settings."""

    def __init__(self, path: Path, folder: Path, tools: dict[str, Path]):
        self.path, self.folder = path.resolve(), folder
        self.tools = tools  # "fuzzers", "tests": folders that the command line named
        self.environment = {"PATH": os.environ["PATH"], "NO_COLOR": "1", "HOME": str(folder)}
        for name in ("DATA", "CACHE", "STATE", "CONFIG"):
            self.environment[f"XDG_{name}_HOME"] = str(folder / name.lower())
        (folder / SMALL).write_bytes(small_recording())

    def begin(self, *arguments, before=(), **how) -> subprocess.Popen:
        """`before`: a command that becomes the program with these arguments."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.PIPE, **how}  # fmt: skip
        return subprocess.Popen(
            [*before, self.path, *map(str, arguments)], cwd=self.folder, env=self.environment,
            **pipes)  # fmt: skip

    def run(self, *arguments, **how) -> tuple[int, str, str]:
        """Exit status and both outputs. A signal, an internal error or a hang is a Failure."""
        process = self.begin(*arguments, **{"stdout": subprocess.PIPE, **how})
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"hangs: {arguments}") from None
        status = process.returncode
        if status < 0 or status == 70:
            raise Failure(f"{arguments} ended with {status}: {err.decode(errors='replace')[:300]}")
        return status, (out or b"").decode(errors="replace"), err.decode(errors="replace")

    def remove(self, pattern: str) -> None:
        for path in self.folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def must(self, *arguments, **how) -> str:
        status, out, err = self.run(*arguments, **how)
        if status != 0:
            raise Failure(f"{arguments} ended with {status}: {err[:300]}")
        return out


def without_times(text: str) -> str:
    """A report without what differs from run to run: its command and date."""

    def clean(value):
        if isinstance(value, dict):
            skipped = ("command", "date", "wall_seconds", "compile_ms", "judge_ms")
            return {k: clean(v) for k, v in value.items() if k not in skipped}
        return [clean(item) for item in value] if isinstance(value, list) else value

    return json.dumps(clean(json.loads(text)), sort_keys=True)


def report(program: Program, store: str) -> str:
    return without_times(program.must("report", "run", "--store", store, "--json"))


class Work:
    """A run that can be begun, killed and resumed: `begin` and `resume` are its command lines."""

    def __init__(self, program: Program, command: list, store: str):
        self.program, self.command, self.store = program, command, store
        program.must(*self.line("--run", "whole.db"))
        self.seconds = timed(lambda: program.must(*self.line("--run", "timed.db")))
        self.expected = report(program, "whole.db")

    def line(self, how: str, store: str) -> list:
        return [*self.command, "--store", store, how, "run"]

    def fresh(self) -> None:
        self.program.remove(self.store + "*")

    def finish(self) -> None:
        """Resumes, or begins where nothing was begun, and compares with the undisturbed run."""
        status, _, err = self.program.run(*self.line("--resume", self.store))
        if status == 66 or (status == 65 and "holds no run" in err):
            status, _, err = self.program.run(*self.line("--run", self.store))
        if status != 0:
            raise Failure(f"going on ended with {status}: {err[:300]}")
        if report(self.program, self.store) != self.expected:
            raise Failure("the report is not that of the undisturbed run")


def tuning(program: Program) -> Work:
    return Work(program, ["hgemm", "tune", *TUNE], "faulty.db")


def make_bundle(folder: str, points: int) -> list:
    sizes = ["--shapes", "64x64x64", "--limit", points, "--device", SMALL, "--quiet"]
    return ["bundle", "make", folder, *sizes]


def bundle_with_results(program: Program, points: int) -> Path:
    """A bundle whose jobs have one result each, as its program would have written them."""
    if shutil.which("zstd") is None:
        raise Skip("needs the program zstd")
    program.must(*make_bundle("bundle", points))
    bundle = program.folder / "bundle"
    text = subprocess.run(["zstd", "-dcq", bundle / "jobs.jsonl.zst"], capture_output=True, check=True)
    result = json.loads(RESULT.read_text().splitlines()[1])
    with (bundle / "results.jsonl").open("w") as file:
        for line in text.stdout.splitlines():
            body = json.dumps({**result, "key": json.loads(line)["key"]})
            digest = hashlib.sha256(body.encode()).hexdigest()
            file.write(f'{{"sha256":"{digest}",{body[1:]}\n')
    return bundle


def after_a_while(process: subprocess.Popen, seconds: float, rng: random.Random, signal_number):
    """Sends the signal at a random instant of what takes `seconds` undisturbed."""
    time.sleep(rng.uniform(0, seconds))
    process.send_signal(signal_number)


def timed(call) -> float:
    begun = time.monotonic()
    call()
    return time.monotonic() - begun
