#!/usr/bin/env python3
"""Injects faults into the program from the outside, and counts what was lost or believed.

    faults.py PROGRAM [--only CLASS ...] [--tries N] [--seed N] [--csv FILE]

A try fails when the program ends by a signal or with status 70, when it hangs, when what it says
after the fault is not what it says without one, or when a damaged file changes an answer and the
exit status is 0. The classes, each of which needs no GPU:

  kill-tune      SIGKILL of a replayed tuning at a random instant, then --resume: the same report
  kill-agent     the same of a replayed run of the agent
  kill-merge     SIGKILL of a merge of knowledge bases, then again: the same base
  stop-worker    SIGSTOP of a tuning beyond its lease; another goes on, then the first wakes up (one
                 that was stopped while it held the store's lock is woken up alone)
  full-disk      a limit on the size of files while tuning, then --resume without it
  full-stdout    commands whose output goes to /dev/full: status 74
  flip-store     one bit of a store flipped: the same report, or an error
  mutate-FORMAT  a recording, catalogue, knowledge text or task changed at random: refused, or read
                 without a crash; but for the task, which has no digest, the answer does not change

With --csv one row a class is written: class, tries, failures, command, commit.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
LIMIT_S = 120  # no command here takes a tenth of it
TUNE = ["--shapes", "64x64x64,512x512x512", "--device", "recorded", "--budget", "evals=60"]
TUNE += ["--finalists", "1", "--seed", "3", "--quiet"]
SHAPES = ["run/64x64x64", "run/512x512x512"]
AGENT = CHECKOUT / "data/recordings/agent/softmax-f16.wsrec"


class Failure(Exception):
    """A promise that did not hold; the text says which."""


class Program:
    """The program under test, in a folder of its own and with nothing of the user's settings."""

    def __init__(self, path: Path, folder: Path):
        self.path, self.folder = path.resolve(), folder
        self.environment = {"PATH": os.environ["PATH"], "NO_COLOR": "1", "HOME": str(folder)}
        for name in ("DATA", "CACHE", "STATE", "CONFIG"):
            self.environment[f"XDG_{name}_HOME"] = str(folder / name.lower())

    def begin(self, *arguments, stdout=subprocess.DEVNULL, file_bytes=None) -> subprocess.Popen:
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

        return subprocess.Popen(
            [self.path, *map(str, arguments)], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
            preexec_fn=limit if file_bytes else None)  # fmt: skip

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
        begun = time.monotonic()
        program.must(*self.line("--run", "timed.db"))
        self.seconds = time.monotonic() - begun
        self.expected = report(program, "whole.db")

    def line(self, how: str, store: str) -> list:
        return [*self.command, "--store", store, how, "run"]

    def fresh(self) -> None:
        for path in self.program.folder.glob(self.store + "*"):
            path.unlink()

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


def kill(work: Work, tries: int, rng: random.Random):
    for _ in range(tries):
        work.fresh()
        process = work.program.begin(*work.line("--run", work.store))
        time.sleep(rng.uniform(0, work.seconds))
        process.kill()
        process.communicate()
        yield work.finish


def kill_tune(program, tries, rng):
    yield from kill(tuning(program), tries, rng)


def kill_agent(program, tries, rng):
    command = ["optimize", CHECKOUT / "tasks/softmax-f16", "--proposer", "agent", "--quiet"]
    command += ["--model", f"recorded:{AGENT}", "--device", AGENT]
    yield from kill(Work(program, command, "faulty.db"), tries, rng)


def kill_merge(program, tries, rng):
    program.must("kb", "import", CHECKOUT / "data/knowledge/h200.jsonl", "--knowledge", "h200.db")
    begun = time.monotonic()
    program.must("kb", "merge", "h200.db", "--knowledge", program.folder / "whole.db")
    seconds = time.monotonic() - begun
    expected = program.must("kb", "export", "-", "--knowledge", "whole.db")
    for _ in range(tries):
        for path in program.folder.glob("faulty.db*"):
            path.unlink()
        merge = ["kb", "merge", "h200.db", "--knowledge", program.folder / "faulty.db"]
        process = program.begin(*merge)
        time.sleep(rng.uniform(0, seconds))
        process.kill()
        process.communicate()

        def check():
            program.must(*merge)
            program.must("kb", "verify", "--knowledge", "faulty.db")
            if program.must("kb", "export", "-", "--knowledge", "faulty.db") != expected:
                raise Failure("the base is not that of the undisturbed merge")

        yield check


def stop_worker(program, tries, rng):
    work = tuning(program)
    for _ in range(tries):
        work.fresh()
        sleeper = program.begin(*work.line("--run", work.store))
        time.sleep(rng.uniform(0.3, 1) * work.seconds)
        sleeper.send_signal(signal.SIGSTOP)

        def check(sleeper=sleeper):
            try:
                # Its lease runs out: 15 minutes, which nobody waits for here.
                if sleeper.poll() is None and (program.folder / work.store).exists():
                    database = sqlite3.connect(program.folder / work.store, timeout=5)
                    try:
                        database.execute("UPDATE job SET lease_until = 0 WHERE state = 'leased'")
                        database.commit()
                    except sqlite3.OperationalError as error:
                        # It was stopped in the middle of a transaction, which is its right.
                        if "locked" not in str(error):
                            raise
                        return
                    finally:
                        database.close()
                work.finish()
            finally:
                sleeper.send_signal(signal.SIGCONT)
                sleeper.communicate(timeout=LIMIT_S)
            if sleeper.returncode not in (0, 75):
                raise Failure(f"the one that woke up ended with {sleeper.returncode}")
            if report(program, work.store) != work.expected:
                raise Failure("the one that woke up changed the report")

        yield check


def full_disk(program, tries, rng):
    work = tuning(program)
    size = (program.folder / "whole.db").stat().st_size
    for _ in range(tries):
        work.fresh()
        most = int(rng.uniform(0, 1.1) * size)

        def check(most=most):
            status, _, err = program.run(*work.line("--run", work.store), file_bytes=max(most, 1))
            if status not in (0, 74):
                raise Failure(f"a full disk ended with {status}: {err[:300]}")
            work.finish()

        yield check


def full_stdout(program, tries, rng):
    program.must("hgemm", "tune", *TUNE, "--store", "s.db", "--run", "run")
    program.must("hgemm", "catalogue", "make", "--store", "s.db", "--out", "c.csv")
    task = CHECKOUT / "tasks/saxpy-f32"
    commands = [
        ["--help"], ["--version"], ["doctor"], ["doctor", "--json"], ["exit-codes"],
        ["completion", "bash"], ["kb", "show"], ["kb", "export", "-"],
        ["hgemm", "catalogue", "check", "c.csv"], ["hgemm", "catalogue", "merge", "c.csv", "--out", "-"],
        ["report", "--store", "s.db"], ["report", "run", "--store", "s.db", "--json"],
        ["store", "check", "s.db"], ["task", "check", task], ["task", "check", task, "--json"],
        ["task", "check", "nowhere", "--json"],
    ]  # fmt: skip
    for i in range(tries):

        def check(command=commands[i % len(commands)]):
            with open("/dev/full", "wb") as full:
                status, _, _ = program.run(*command, stdout=full)
            if status != 74:
                raise Failure(f"{command} ended with {status}, its output lost")

        yield check


def flip_store(program, tries, rng):
    work = tuning(program)
    whole = (program.folder / "whole.db").read_bytes()
    for _ in range(tries):
        work.fresh()
        bit = rng.randrange(len(whole) * 8)
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        (program.folder / work.store).write_bytes(flipped)

        def check(bit=bit):
            status, out, _ = program.run("report", "run", "--store", work.store, "--json")
            if status == 0 and without_times(out) != work.expected:
                raise Failure(f"bit {bit} changed the report, and nothing was said")

        yield check


def mutated(text: bytes, rng: random.Random) -> bytes:
    """One to three changes: a bit, a byte, a cut, a piece twice, a line gone, a number that grew."""
    changed = bytearray(text)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(changed)) if changed else 0
        end = min(len(changed), at + rng.randint(1, 60))
        kind = rng.randrange(6)
        if kind == 0 and changed:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and changed:
            changed[at] = rng.randrange(256)
        elif kind == 2:
            del changed[at:]
        elif kind == 3:
            changed[at:at] = changed[at:end]
        elif kind == 4:
            lines = bytes(changed).split(b"\n")
            del lines[rng.randrange(len(lines))]
            changed = bytearray(b"\n".join(lines))
        else:
            changed[at:end] = rng.choice([b"-1", b"99999999999999999999", b"nan", b"\0", b"[[[["])
    return bytes(changed)


def mutate(path_of, text: bytes, command, has_digest=False):
    """Tries of one format: `path_of(program)` is the file that is changed, `command` reads it."""

    def tries_of(program, tries, rng):
        path = path_of(program)
        path.write_bytes(text)
        expected = program.must(*command(program))
        for _ in range(tries):
            changed = mutated(text, rng)
            path.write_bytes(changed)

            def check(changed=changed):
                status, out, _ = program.run(*command(program))
                believed = status in (0, 1) and out != expected
                if has_digest and believed:
                    keep = program.folder / "believed"
                    keep.write_bytes(changed)
                    raise Failure(f"another answer of a changed file, status 0: {out[:200]}")

            yield check

    return tries_of


def in_folder(name):
    return lambda program: program.folder / name


def in_task(name):
    def path_of(program):
        shutil.copytree(CHECKOUT / "tasks/saxpy-f32", program.folder / "task", dirs_exist_ok=True)
        return program.folder / "task" / name

    return path_of


def shipped(name) -> bytes:
    return (CHECKOUT / name).read_bytes()


def mutate_catalogue(program, tries, rng):
    program.must("hgemm", "catalogue", "merge", CHECKOUT / "tests/library/two_rows.csv",
                 "--out", "c.csv")  # fmt: skip
    text = (program.folder / "c.csv").read_bytes()
    read = lambda _: ["hgemm", "catalogue", "merge", "m.csv", "--out", "-", "--quiet"]  # noqa: E731
    yield from mutate(in_folder("m.csv"), text, read, True)(program, tries, rng)


def mutate_knowledge(program, tries, rng):
    read = lambda p: ["kb", "diff", CHECKOUT / "data/knowledge/seed.jsonl", "m.jsonl"]  # noqa: E731
    text = shipped("data/knowledge/seed.jsonl")
    yield from mutate(in_folder("m.jsonl"), text, read, True)(program, tries, rng)


def mutate_recording(program, tries, rng):
    read = lambda p: ["hgemm", "show", "64x64x64", "--device", "m.wsrec", "--json"]  # noqa: E731
    text = next((CHECKOUT / "data/recordings").glob("*.wsrec")).read_bytes()
    yield from mutate(in_folder("m.wsrec"), text, read, True)(program, tries, rng)


def mutate_task(program, tries, rng):
    read = lambda p: ["task", "check", "task"]  # noqa: E731
    text = shipped("tasks/saxpy-f32/task.toml")
    yield from mutate(in_task("task.toml"), text, read)(program, tries, rng)


CLASSES = {
    "kill-tune": kill_tune,
    "kill-agent": kill_agent,
    "kill-merge": kill_merge,
    "stop-worker": stop_worker,
    "full-disk": full_disk,
    "full-stdout": full_stdout,
    "flip-store": flip_store,
    "mutate-catalogue": mutate_catalogue,
    "mutate-knowledge": mutate_knowledge,
    "mutate-recording": mutate_recording,
    "mutate-task": mutate_task,
}


def run_class(name: str, program: Path, tries: int, seed: int) -> tuple[int, int]:
    """How often it was tried, and how often it failed."""
    done = failures = 0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        rng = random.Random(f"{name} {seed}")
        for check in CLASSES[name](Program(program, Path(folder)), tries, rng):
            done += 1
            try:
                check()
            except Failure as failure:
                failures += 1
                print(f"{name}, try {done}: {failure}", file=sys.stderr)
    return done, failures


def write_rows(path: Path, rows: list[list]) -> None:
    with path.open("w", newline="") as file:
        file.write("# made by tests/reliability/faults.py, on a machine without a GPU\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["class", "tries", "failures", "command", "commit"])
        writer.writerows(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--only", nargs="+", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--tries", type=int, default=20, help="of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", type=Path, help="write one row a class here")
    options = parser.parse_args()
    git = ["git", "-C", CHECKOUT, "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    rows = []
    for name in options.only:
        tries, failures = run_class(name, options.program, options.tries, options.seed)
        print(f"{name}: {failures} of {tries} failed", flush=True)
        command = f"tests/reliability/faults.py --only {name} --tries {tries} --seed {options.seed}"
        rows.append([name, tries, failures, command, commit])
        if options.csv:  # after each class, so that an interrupted call keeps what it found
            write_rows(options.csv, rows)
    return 1 if any(row[2] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
