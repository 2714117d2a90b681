#!/usr/bin/env python3
"""Rewards a second of a fleet of judges on Ray, all of it on this machine, and how long a client
waits: WARPSMITH=PROGRAM fleet_load.py [JUDGES] [CLIENTS] [SECONDS]. Each client asks for one sample
at a time; texts are all different, so that no answer comes from the fleet's file."""

import itertools
import json
import os
import random
import sys
import threading
import time

from fleet_world import FleetWorld
from serving import TASK, points, reply

from warpsmith_rewards import Judge


def main() -> None:
    judges, clients, seconds = [int(text) for text in sys.argv[1:]] + [2, 16, 30][len(sys.argv) - 1 :]
    rows = points()
    world = FleetWorld(nodes=judges)
    token = f"{world.folder}/token"
    number, waits, wrong = itertools.count(), [], []

    def ask(until: float) -> None:
        judge = Judge(world.url, token_file=token, threads=1)
        draws = random.Random(next(number))
        while time.monotonic() < until:
            row = draws.choice(rows)
            text = f"Attempt {next(number)}.\n{reply(row['point'])}"
            begun = time.monotonic()
            answer = judge.rewards([{"task": TASK, "completion": text}])[0]
            waits.append(time.monotonic() - begun)
            if abs(answer["ratio"] - row["ratio"]) > 1e-4:
                wrong.append(json.dumps(answer))
        judge.close()

    def load(seconds: float) -> float:
        waits.clear()
        begun = time.monotonic()
        threads = [threading.Thread(target=ask, args=(begun + seconds,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.monotonic() - begun

    load(3)
    took = load(seconds)
    waits.sort()
    print(f"judges {judges}, clients {clients}, cores {os.cpu_count()}, load {os.getloadavg()[0]:.1f}: "
          f"{len(waits)} rewards in {took:.1f} s, {len(waits) / took:.1f} a second; waits p50 "
          f"{1000 * waits[len(waits) // 2]:.0f} ms, p99 {1000 * waits[len(waits) * 99 // 100]:.0f} "
          f"ms; wrong {len(wrong)}")  # fmt: skip
    world.close()
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
