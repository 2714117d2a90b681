#!/usr/bin/env python3
"""Injects faults into the program from the outside, and counts what was lost or believed.

    faults.py PROGRAM [--class NAME ...] [--tries N] [--seed N] [--jobs N] [--csv FILE]
              [--fuzzers TREE] [--tests FOLDER]

A try fails when the program ends by a signal or with status 70, when it hangs, when what it says
after the fault is not what it says without one, or when a damaged file changes an answer and the
exit status is 0. The classes (CLASSES, at the end), each of which needs no GPU:

  kill-tune      SIGKILL of a replayed tuning at a random instant, then --resume: the same report
  kill-agent     the same of a replayed run of the agent
  kill-mcp       the same of a server: what it acknowledged is there once, and the client goes on
  kill-serve     SIGKILL of an HTTP server that is sent jobs: what it acknowledged is judged, once
  kill-merge     SIGKILL of a merge of knowledge bases, then again: the same base
  kill-make      SIGKILL of bundle make: the folder is whole, or absent and can be made
  kill-take      SIGKILL of bundle take, then again: every verdict is there once
  stop-worker    SIGSTOP of a tuning beyond its lease; another goes on, then the first wakes up (one
                 that was stopped while it held the store's lock is woken up alone)
  full-disk      a limit on the size of files while tuning, then --resume without it
  full-tmpfs     the same on a small file system (needs root or user namespaces, else skipped)
  full-stdout    commands whose output goes to /dev/full: status 74
  flip-store     one bit of a store flipped: the same report, or an error
  flip-facts     one bit of a fact in a store flipped: the same report, or status 65
  vanish-gpu     the fake driver refuses every call from a random one on: FOLDER/vanishing_gpu
                 judges on, or gives the device up in words
  hang-gpu       the same, and the runners' calls never return
  mutate-FORMAT  a file changed at random: refused, or read without a crash; but for formats that
                 have no digest (tasks), the answer does not change
  mutate-mcp     lines of a conversation changed at random: the server answers the next one
  read-READER    files changed at random, read by a fuzzer of TREE (tests/fuzz), with its sanitizers

With --csv a row a class is kept: class, tries, failures, command, commit (the program's). A class
whose row is of this commit goes on after its tries, so that an interrupted call is called again; a
row of another commit is replaced. Works in /dev/shm where there is one: a disk's speed proves nothing.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import os
import queue
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import damage
import kills
from program import Failure, Program, Skip

HEADER = ["class", "tries", "failures", "command", "commit"]

CLASSES = {
    "kill-tune": kills.kill_tune,
    "kill-agent": kills.kill_agent,
    "kill-mcp": kills.kill_mcp,
    "kill-serve": kills.kill_serve,
    "kill-merge": kills.kill_merge,
    "kill-make": kills.kill_make,
    "kill-take": kills.kill_take,
    "stop-worker": kills.stop_worker,
    "vanish-gpu": kills.vanish_gpu,
    "hang-gpu": kills.hang_gpu,
    "full-disk": damage.full_disk,
    "full-tmpfs": damage.full_tmpfs,
    "full-stdout": damage.full_stdout,
    "flip-store": damage.flip_store,
    "flip-facts": damage.flip_facts,
    "mutate-bundle": damage.mutate_bundle,
    "mutate-catalogue": damage.mutate_catalogue,
    "mutate-comparison": damage.mutate_comparison,
    "mutate-knowledge": damage.mutate_knowledge,
    "mutate-mcp": damage.mutate_mcp,
    "mutate-recording": damage.mutate_recording,
    "mutate-results": damage.mutate_results,
    "mutate-store": damage.mutate_store,
    "mutate-task": damage.mutate_task,
    **{f"read-{reader}": damage.read(reader) for reader in damage.READERS},
}

class Row:
    """A class's row in the CSV: what was done before at this commit, and is added to."""

    def __init__(self, path: Path | None, name: str, command: str, commit: str):
        self.path, self.name, self.command, self.commit = path, name, command, commit
        self.tries = self.failures = 0
        for row in self.rows() if path else []:
            if (row[0], row[4]) == (name, commit):
                self.tries, self.failures = int(row[1]), int(row[2])

    def rows(self) -> list[list[str]]:
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return [row for row in csv.reader(file) if row and not row[0].startswith("#")][1:]

    def write(self) -> None:
        if self.path is None:
            return
        folder = os.open(self.path.absolute().parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)  # another call may write its classes there
            mine = [self.name, self.tries, self.failures, self.command, self.commit]
            others = [row for row in self.rows() if row[0] != self.name]
            aside = self.path.with_suffix(".part")
            with aside.open("w", newline="") as file:
                file.write("# made by tests/reliability/faults.py, on a machine without a GPU\n")
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(HEADER)
                writer.writerows(sorted([*others, mine], key=lambda row: row[0]))
            aside.replace(self.path)  # whoever kills us loses no row
        finally:
            os.close(folder)


def run_class(name: str, row: Row, options) -> None:
    tools = {"fuzzers": options.fuzzers, "tests": options.tests}
    attempts: queue.SimpleQueue = queue.SimpleQueue()  # of those that nobody is making

    def try_once(number: int) -> tuple[int, str]:
        """How many tries it was, and what failed. The same number is the same fault."""
        attempt = attempts.get()
        try:
            return attempt(random.Random(f"{name} {options.seed} {number}")) or 1, ""
        except Failure as failure:
            return 1, f"{name}, seed {options.seed}, number {number}: {failure}"
        finally:
            attempts.put(attempt)

    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
            prefix="faults-", dir=memory if memory.is_dir() else None) as folder:  # fmt: skip
        for _ in range(options.jobs):
            own = Path(tempfile.mkdtemp(dir=folder))
            attempts.put(CLASSES[name](Program(options.program, own, tools)))
        with ThreadPoolExecutor(options.jobs) as pool:
            while row.tries < options.tries:
                numbers = range(row.tries, min(row.tries + options.jobs, options.tries))
                for tries, failure in pool.map(try_once, numbers):
                    row.tries += tries
                    row.failures += bool(failure)
                    if failure:
                        print(failure, file=sys.stderr, flush=True)
                row.write()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--class", dest="classes", nargs="+", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--tries", type=int, default=20, help="of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="tries side by side")
    parser.add_argument("--csv", type=Path, help="keep one row a class here")
    parser.add_argument("--fuzzers", type=Path, help="a tree that tests/fuzz/build made")
    parser.add_argument("--tests", type=Path, help="build/release/tests")
    options = parser.parse_args()
    doctor = subprocess.run([options.program, "doctor"], capture_output=True, text=True, check=False)
    commit = (re.findall(r"\((.*)\)", doctor.stdout.split("\n")[0]) or ["unknown"])[0]
    failures = 0
    for name in options.classes:
        command = f"tests/reliability/faults.py --class {name} --seed {options.seed}"
        row = Row(options.csv, name, command, commit)
        try:
            run_class(name, row, options)
        except Skip as skip:
            print(f"{name}: skipped: {skip}", flush=True)
            continue
        print(f"{name}: {row.failures} of {row.tries} failed", flush=True)
        failures += row.failures
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
