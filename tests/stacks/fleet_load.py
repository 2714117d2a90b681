#!/usr/bin/env python3
"""Rewards a second of a fleet of judges on Ray, all of it on this machine, and how long a client
waits: WARPSMITH=PROGRAM fleet_load.py [JUDGES] [CLIENTS] [SECONDS]. Each client asks for one sample
at a time, then for a group of eight; texts are all different, so that no answer comes from the
fleet's file."""

import itertools
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from fleet_world import FleetWorld
from serving import TASK, points, reply

from warpsmith_rewards import Judge


def main() -> None:
    judges, clients, seconds = [int(text) for text in sys.argv[1:]] + [2, 16, 30][len(sys.argv) - 1 :]
    rows = points()
    world = FleetWorld(nodes=judges)
    token = f"{world.folder}/token"
    number, waits, wrong = itertools.count(), [], []

    def ask(until: float, samples: int) -> None:
        judge = Judge(world.url, token_file=token, threads=1)
        draws = random.Random(next(number))
        while time.monotonic() < until:
            some = draws.choices(rows, k=samples)
            group = f"Attempt {next(number)}."
            asked = [{"task": TASK, "group": group, "completion": f"{group}\n{reply(row['point'])}"}
                     for row in some]  # fmt: skip
            begun = time.monotonic()
            answers = judge.rewards(asked)
            waits.append(time.monotonic() - begun)
            wrong.extend(json.dumps(answer) for row, answer in zip(some, answers)
                         if abs(answer["ratio"] - row["ratio"]) > 1e-4)  # fmt: skip
        judge.close()

    def load(seconds: float, samples: int) -> float:
        waits.clear()
        begun = time.monotonic()
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(ask, [begun + seconds] * clients, [samples] * clients))
        return time.monotonic() - begun

    load(3, 1)
    for samples in (1, 8):
        took = load(seconds, samples)
        waits.sort()
        print(f"judges {judges}, clients {clients}, samples a request {samples}, cores "
              f"{os.cpu_count()}, load {os.getloadavg()[0]:.1f}: {samples * len(waits) / took:.1f} "
              f"rewards a second; waits p50 {1000 * waits[len(waits) // 2]:.0f} ms, p99 "
              f"{1000 * waits[len(waits) * 99 // 100]:.0f} ms; wrong {len(wrong)}", flush=True)  # fmt: skip
    world.close()
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
