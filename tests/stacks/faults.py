#!/usr/bin/env python3
"""Kills what can be killed of a fleet while it works, and counts what was lost or doubled.

    WARPSMITH=PROGRAM faults.py [--jobs N] [--judges N] [--every S] [--csv FILE] [--seed N]

Every S seconds a judge gets SIGKILL, one time in ten SIGSTOP (it hangs), one time in ten Ray's
process around it gets SIGKILL; every 40 times a node goes as by a power cut and another comes. The
jobs are recorded configurations, all different, so each answer is known beforehand:

  lost     keys without an answer
  doubled  answers more than keys
  stale    answers that are not the recorded measurement, or change when they are asked for again
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from fleet_world import FleetWorld
from serving import CHECKOUT, candidate, points

DEVICE = CHECKOUT / "data/recordings/spaces"


def known_jobs(count: int, draws: random.Random) -> list[tuple[str, dict, float]]:
    """(task, candidate, ratio) of recorded configurations."""
    names = [path.stem.partition("-")[2] for path in sorted(DEVICE.glob("*.wsrec"))]
    jobs = []
    for shape in (shape for name in names for shape in name.split("_")):
        if len(jobs) >= count:
            break
        for row in points(shape, str(DEVICE)):
            if row["outcome"] == "passed":
                jobs.append((f"hgemm:{shape}:TN", candidate(row["point"]), row["ratio"]))
    draws.shuffle(jobs)
    return sorted(jobs[:count], key=lambda job: job[0])


class Chaos(threading.Thread):
    def __init__(self, world: FleetWorld, every_s: float, draws: random.Random):
        super().__init__(daemon=True)
        self.world, self.every_s, self.draws = world, every_s, draws
        self.node_is_due = False
        self.over, self.counts = threading.Event(), {"judge": 0, "hang": 0, "replica": 0, "node": 0}

    def exchange_node(self):
        """Ray starts nodes in a process's main thread only."""
        if self.node_is_due:
            self.node_is_due = False
            self.world.remove_node()
            self.world.add_node()
            self.counts["node"] += 1

    def run(self):
        turn = 0
        while not self.over.wait(self.every_s):
            turn += 1
            self.node_is_due |= turn % 40 == 20
            kind = self.draws.choices(("judge", "hang", "replica"), (8, 1, 1))[0]
            victims = self.world.judges() if kind != "replica" else self.world.replicas()
            if not victims:
                continue
            try:
                number = signal.SIGSTOP if kind == "hang" else signal.SIGKILL
                os.kill(self.draws.choice(victims), number)
                self.counts[kind] += 1
            except ProcessLookupError:
                continue  # it was gone already


def run(options) -> dict:
    draws = random.Random(options.seed)
    jobs = known_jobs(options.jobs, draws)
    world = FleetWorld(options.judges, str(DEVICE), limit_s=8)
    chaos = Chaos(world, options.every, draws)
    begun = time.monotonic()
    chaos.start()
    expected, answers, first = {}, {}, 0
    while first < len(jobs):
        batch = [job for job in jobs[first : first + 128] if job[0] == jobs[first][0]]
        first += len(batch)
        body = {"task": batch[0][0], "candidates": [job[1] for job in batch]}
        keys = world.judge.request("POST", "/v1/jobs", body)["keys"]
        expected |= {key: job[2] for key, job in zip(keys, batch)}

    def poll(wanted):
        found = world.judge.request("GET", f"/v1/jobs?keys={','.join(wanted)}&wait=10")["jobs"]
        return {job["key"]: job for job in found if job["state"] == "done"}

    last = time.monotonic()
    while left := [key for key in expected if key not in answers]:
        chaos.exchange_node()
        news = poll(left[:200])
        answers |= news
        last = time.monotonic() if news else last
        if time.monotonic() - last > 180:
            break  # nothing came for three minutes: what is left is lost
        print(f"\r{len(answers)} of {len(expected)}", end="", file=sys.stderr)
    seconds = time.monotonic() - begun
    chaos.over.set()
    chaos.join()
    again: dict = {}
    keys = list(answers)
    for i in range(0, len(keys), 200):
        again |= poll(keys[i : i + 200])
    metrics = world.metrics()
    rows = world.count_answers()
    world.close()
    stale = sum(ratio_of(answers[k]) != ratio_of(again.get(k)) or
                abs((ratio_of(answers[k]) or 0) - expected[k]) > 1e-6 for k in answers)  # fmt: skip
    return {"class": f"fleet-{options.judges}-judges", "jobs": len(expected),
            "kills": sum(chaos.counts.values()), **chaos.counts,
            "lost": len(expected) - len(answers), "doubled": rows - len(expected), "stale": stale,
            "calls": int(metrics["warpsmith_fleet_calls_total"]),
            "seconds": round(seconds)}  # fmt: skip


def ratio_of(job: dict | None) -> float | None:
    """The candidate's speed relative to the first baseline, as the verdict has it."""
    try:
        mode = job["verdict"]["timings"][0]["modes"][0]
        return mode["comparisons"][0]["ratio"]
    except (KeyError, IndexError, TypeError):
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--judges", type=int, default=8)
    parser.add_argument("--every", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    result = run(options)
    git = ["git", "-C", CHECKOUT, "rev-parse", "--short", "HEAD"]
    result["command"] = (f"tests/stacks/faults.py --jobs {options.jobs} --judges {options.judges}"
                         f" --every {options.every:g} --seed {options.seed}")  # fmt: skip
    result["commit"] = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    result["date"] = time.strftime("%Y-%m-%d", time.gmtime())
    print(result)
    if options.csv:
        is_new = not options.csv.exists()
        with options.csv.open("a", newline="") as file:
            table = csv.DictWriter(file, list(result), lineterminator="\n")
            if is_new:
                file.write("# made by tests/stacks/faults.py, on a machine without a GPU\n")
                table.writeheader()
            table.writerow(result)
    sys.exit(bool(result["lost"] or result["doubled"] or result["stale"]))


if __name__ == "__main__":
    main()
