#!/usr/bin/env python3
"""Kills what can be killed of a fleet while it works, and counts what was lost or doubled.

    WARPSMITH=PROGRAM faults.py [--jobs N] [--judges N] [--every S] [--call N] [--seconds S]
                                [--csv FILE]

Every S seconds a judge gets SIGKILL, one time in ten Ray's process around it; three times in ten
another judge gets SIGSTOP and hangs with all that it judges, which is --call jobs; every 40 times a
node goes as by a power cut and another comes. The jobs are recorded configurations, so each answer
is known beforehand. Beyond the recorded ones they are the same again in other words (parameters
that have their default are left out), which is another key. After --seconds no further jobs are sent.

  lost     keys without an answer
  doubled  answers more than keys
  stale    answers that are not the recorded measurement, or change when they are asked for again;
           with those that two judges died over (`blamed`)
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fleet_world import FleetWorld
from serving import CHECKOUT, points

DEVICE = CHECKOUT / "data/recordings/h200-hgemm.wsrec"
SHAPES = ("128x128x128", "512x512x512", "2048x2048x2048")
AHEAD = 2_000  # jobs with the fleet at a time
# Of the family wgmma: what a configuration means that does not name them.
DEFAULTS = {"persistent": 0, "skew": 0, "ctas_per_sm": 1, "stream_c": 0, "slices": 1,
            "ping_pong": 0, "direct_load": 0, "even_rounds": 0, "l2_promotion": 256}  # fmt: skip


def spellings(point: dict):
    """The candidate in as many words as there are: any parameter with its default can go."""
    family, config = point["family"], {**point["config"]}
    if family == "wgmma":
        config = DEFAULTS | config
    usual = [name for name in config if family == "wgmma" and config[name] == DEFAULTS.get(name)]
    for number in range(2 ** len(usual)):
        without = {name for i, name in enumerate(usual) if number >> i & 1}
        values = {name: value for name, value in config.items() if name not in without}
        yield {"family": family, "values": values}


def known_jobs(count: int, draws: random.Random) -> list[tuple[str, dict, float]]:
    """(task, candidate, ratio) of recorded configurations, all different as texts."""
    rows = [(f"hgemm:{shape}:TN", row) for shape in SHAPES
            for row in points(shape, str(DEVICE)) if row["outcome"] == "passed"]  # fmt: skip
    jobs = []
    every = [(task, row["ratio"], spellings(row["point"])) for task, row in rows]
    while len(jobs) < count and every:
        draws.shuffle(every)
        left = []
        for task, ratio, words in every:
            if (one := next(words, None)) is not None:
                jobs.append((task, one, ratio))
                left.append((task, ratio, words))
        every = left
    return sorted(jobs[:count], key=lambda job: job[0])


class Chaos(threading.Thread):
    def __init__(self, world: FleetWorld, every_s: float, draws: random.Random):
        super().__init__(daemon=True)
        self.world, self.every_s, self.draws = world, every_s, draws
        self.nodes = len(world.nodes)
        self.node_is_due = False
        self.over, self.counts = threading.Event(), {"judge": 0, "hang": 0, "replica": 0, "node": 0}

    def exchange_node(self):
        """Ray starts nodes in a process's main thread only, and on a busy machine not always."""
        if not self.node_is_due:
            return
        if len(self.world.nodes) == self.nodes:
            self.world.remove_node()
        try:
            self.world.add_node()
        except Exception as error:  # Ray's own class for it is Exception
            print(f"a node did not start, once more: {error}", file=sys.stderr, flush=True)
            return
        self.node_is_due = False
        self.counts["node"] += 1

    def run(self):
        turn = 0
        while not self.over.wait(self.every_s):
            turn += 1
            self.node_is_due |= turn % 40 == 20
            self.strike(self.draws.choices(("judge", "replica"), (9, 1))[0])
            if self.draws.random() < 0.3:
                self.strike("hang")

    def strike(self, kind: str) -> None:
        victims = self.world.replicas() if kind == "replica" else self.world.judges()
        if not victims:
            return
        try:
            os.kill(self.draws.choice(victims), signal.SIGSTOP if kind == "hang" else signal.SIGKILL)
            self.counts[kind] += 1
        except ProcessLookupError:
            return  # it was gone already


def batches(jobs: list) -> list[list]:  # at most 128 of one task
    tasks = [list(alike) for _, alike in itertools.groupby(jobs, key=lambda job: job[0])]
    return [alike[i : i + 128] for alike in tasks for i in range(0, len(alike), 128)]


def poll(world: FleetWorld, wanted: list[str]) -> dict[str, float | None]:
    found = world.judge.request("GET", f"/v1/jobs?keys={','.join(wanted)}&wait=10")["jobs"]
    return {job["key"]: ratio_of(job) for job in found if job["state"] == "done"}


def judge_all(world: FleetWorld, unsent: list[list], chaos: Chaos, most_s: float) -> tuple:
    """(the ratio that each key must have, the ratio that it got)"""
    expected, answers, left = {}, {}, []
    begun = last = told = time.monotonic()
    while unsent or left:
        now = time.monotonic()
        if now - begun > most_s:
            unsent = []
        while unsent and len(left) < AHEAD:
            batch = unsent.pop(0)
            body = {"task": batch[0][0], "candidates": [job[1] for job in batch]}
            keys = world.judge.request("POST", "/v1/jobs", body)["keys"]
            expected |= {key: job[2] for key, job in zip(keys, batch)}
            left += keys
        news = poll(world, left[:200]) if left else {}
        answers |= news
        left = [key for key in left if key not in answers]
        left = left[200:] + left[:200]  # a few that take long keep nobody waiting
        last = now if news else last
        if now - last > 180:
            break  # nothing came for three minutes: what is left is lost
        if now - told > 20:
            told = now
            print(f"{now - begun:.0f} s: {len(answers)} of {len(expected)}, {chaos.counts}",
                  file=sys.stderr, flush=True)  # fmt: skip
    return expected, answers


def run(options) -> dict:
    draws = random.Random(options.seed)
    unsent = batches(known_jobs(options.jobs, draws))
    world = FleetWorld(options.judges, str(DEVICE), limit_s=8, candidates_a_call=options.call)
    chaos = Chaos(world, options.every, draws)
    begun = time.monotonic()
    chaos.start()
    with ThreadPoolExecutor(1) as client:
        judging = client.submit(judge_all, world, unsent, chaos, options.seconds)
        while not judging.done():
            chaos.exchange_node()
            time.sleep(0.1)
    expected, answers = judging.result()
    seconds = time.monotonic() - begun
    chaos.over.set()
    chaos.join()
    again: dict = {}
    keys = list(answers)
    for i in range(0, len(keys), 200):
        again |= poll(world, keys[i : i + 200])
    metrics = world.metrics()
    rows = world.count_answers()
    stale = [key for key in answers if answers[key] != again.get(key) or
             abs((answers[key] or 0) - expected[key]) > 1e-6]  # fmt: skip
    for key in stale:
        print(f"stale: {world.judge.request('GET', f'/v1/jobs?keys={key}')}", file=sys.stderr)
    world.close()
    return {"class": f"fleet-{options.judges}-judges", "jobs": len(expected),
            "kills": sum(chaos.counts.values()), **chaos.counts,
            "lost": len(expected) - len(answers), "doubled": rows - len(expected), "stale": len(stale),
            "blamed": int(metrics.get("warpsmith_fleet_blamed_total", 0)),
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
    parser.add_argument("--call", type=int, default=8, help="jobs that a judge gets at a time")
    parser.add_argument("--seconds", type=float, default=7200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    result = run(options)
    git = ["git", "-C", CHECKOUT, "rev-parse", "--short", "HEAD"]
    result["command"] = (f"tests/stacks/faults.py --jobs {options.jobs} --judges {options.judges}"
                         f" --every {options.every:g} --call {options.call} --seed {options.seed}")  # fmt: skip
    result["commit"] = subprocess.run(git, capture_output=True, text=True).stdout.strip()
    result["date"] = time.strftime("%Y-%m-%d", time.gmtime())
    print(result)
    if options.csv:
        with options.csv.open("a", newline="") as file:
            table = csv.DictWriter(file, list(result), lineterminator="\n")
            if not file.tell():
                file.write("# made by tests/stacks/faults.py, on a machine without a GPU\n")
                table.writeheader()
            table.writerow(result)
    sys.exit(bool(result["lost"] or result["doubled"] or result["stale"]))


if __name__ == "__main__":
    main()
