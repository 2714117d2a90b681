#!/usr/bin/env python3
"""Servers on one store, of which one gets SIGKILL every second and some hang, while they judge.

    pool.py PROGRAM [--jobs N] [--servers N] [--seconds S] [--seed N] [--csv FILE]

Every second one server is killed and another started in its place; three times in ten another one
is stopped, with what it has begun, and killed three seconds later. Jobs are recorded
configurations while there are any, whose answer is known, then candidates that no recording holds,
which end as inconclusive. After --seconds no more are sent; what was acknowledged is waited for.

  lost     keys that were acknowledged and have no answer
  doubled  verdicts more than keys, in the store
  stale    answers that are not the recorded measurement, but for `blamed`: two workers died over it
"""

import argparse
import contextlib
import csv
import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/program"))
import serve_client  # noqa: E402

DEVICE = str(ROOT / "data/recordings/h200-hgemm.wsrec")
SHAPES = ("128x128x128", "512x512x512", "2048x2048x2048")
TROUBLE = (OSError, http.client.HTTPException, ValueError, IndexError)
PLAN = {"version": 1, "operations": [
    {"type": "memset", "target": "C", "value": 0, "bytes": "2 * M * N"}]}  # fmt: skip


class Pool(threading.Thread):
    def __init__(self, servers: int, store: str, draws: random.Random):
        super().__init__(daemon=True)
        self.store, self.draws, self.over = store, draws, threading.Event()
        self.kills, self.hangs, self.away, self.threads = 0, 0, set(), []
        self.servers = [self.start_one() for _ in range(servers)]

    def start_one(self) -> serve_client.Server:
        return serve_client.Server("--queue", "100000", store=self.store, device=DEVICE)

    def replace(self, index: int, after_s: float = 0) -> None:
        time.sleep(after_s)
        self.servers[index].process.kill()
        self.servers[index].process.communicate()
        self.kills += 1
        self.servers[index] = self.start_one()
        self.away.discard(index)

    def strike(self, hangs: bool) -> None:
        there = [i for i in range(len(self.servers)) if i not in self.away]
        if len(there) < 2:
            return
        index = self.draws.choice(there)
        self.away.add(index)
        if hangs:
            self.servers[index].process.send_signal(signal.SIGSTOP)
            self.hangs += 1
        thread = threading.Thread(target=self.replace, args=(index, 3 if hangs else 0))
        self.threads.append(thread)
        thread.start()

    def run(self) -> None:
        while not self.over.wait(1):
            self.strike(hangs=False)
            if self.draws.random() < 0.3:
                self.strike(hangs=True)
        for thread in self.threads:
            thread.join()

    def ask(self, method: str, path: str, body=None):
        """Of any server, until one answers: (status, answer)."""
        while True:
            there = [one for i, one in enumerate(self.servers) if i not in self.away]
            with contextlib.suppress(*TROUBLE):
                server = random.choice(there)
                status, answer, _ = server.ask(method, path, body)
                if status < 500 and status != 429:
                    return status, answer
            time.sleep(0.02)


def recorded() -> list[tuple[str, dict, float]]:
    jobs = []
    for shape in SHAPES:
        show = ["hgemm", "show", shape, "--device", DEVICE, "--top", "0", "--json"]
        shown = subprocess.run([serve_client.PROGRAM, *show], check=True, capture_output=True)
        for row in json.loads(shown.stdout)["points"]:
            if row["outcome"] == "passed":
                point = {"family": row["point"]["family"], "values": row["point"]["config"]}
                jobs.append((f"hgemm:{shape}:TN", point, row["ratio"]))
    return jobs


def batches(count: int, draws: random.Random) -> list[list]:
    """At most 128 of one task."""
    known = recorded()[:count]
    known += [(known[0][0], {"source": f"// {i} {draws.random()}", "plan": PLAN}, None)
              for i in range(count - len(known))]  # fmt: skip
    draws.shuffle(known)
    by_task = [[job for job in known if job[0] == name] for name in {job[0]: 0 for job in known}]
    cut = [jobs[i : i + 128] for jobs in by_task for i in range(0, len(jobs), 128)]
    draws.shuffle(cut)
    return cut


def is_right(job: dict, ratio: float | None) -> bool:
    verdict = job["verdict"]
    if ratio is None:
        return verdict["outcome"] == "inconclusive"
    if verdict["outcome"] != "passed":
        return False
    comparison = verdict["timings"][0]["modes"][0]["comparisons"][0]
    return abs(comparison["ratio"] - ratio) < 1e-6


def run(options) -> dict:
    draws = random.Random(options.seed)
    unsent = batches(options.jobs, draws)
    with tempfile.TemporaryDirectory() as folder:
        pool = Pool(options.servers, folder + "/s.db", draws)
        pool.start()
        begun = told = last = time.monotonic()
        expected, left, wrong, blamed = {}, [], 0, 0
        more = True
        while more or left:
            while more and len(left) < 4_000 and time.monotonic() - begun < options.seconds:
                if not unsent:
                    more = False
                    break
                batch = unsent.pop()
                body = {"run": "pool", "task": batch[0][0], "candidates": [job[1] for job in batch]}
                status, answer = pool.ask("POST", "/v1/jobs", body)
                serve_client.expect(status == 202, f"202, not {status}: {answer}")
                fresh = dict(zip(answer["keys"], (job[2] for job in batch)))
                left += [key for key in fresh if key not in expected]
                expected |= fresh
            more = more and time.monotonic() - begun < options.seconds
            asked, left = left[:200], left[200:]
            answer = pool.ask("GET", "/v1/jobs?wait=1&keys=" + ",".join(asked))[1]
            for job in answer["jobs"]:
                if job["state"] != "done":
                    left.append(job["key"])
                    continue
                last = time.monotonic()
                died = job["verdict"].get("code") == "worker-died"
                blamed += died
                wrong += not died and not is_right(job, expected[job["key"]])
            if time.monotonic() - last > 120:
                break
            if time.monotonic() - told > 20:
                told = time.monotonic()
                print(f"{told - begun:.0f} s: {len(expected) - len(left)} of {len(expected)}, "
                      f"{pool.kills} kills, {pool.hangs} hangs", file=sys.stderr)  # fmt: skip
        seconds = time.monotonic() - begun
        pool.over.set()
        pool.join()
        for server in pool.servers:
            server.process.kill()
        with contextlib.closing(sqlite3.connect(folder + "/s.db")) as store:
            rows = store.execute("SELECT count(*) FROM served_job WHERE state = 'done'").fetchone()[0]
            twice = store.execute("SELECT count(*) FROM (SELECT verdict FROM served_job WHERE verdict"
                                  " IS NOT NULL GROUP BY verdict HAVING count(*) > 1)").fetchone()[0]  # fmt: skip
    return {"class": f"pool-{options.servers}-servers", "jobs": len(expected), "kills": pool.kills,
            "hangs": pool.hangs, "lost": len(left), "doubled": twice + max(0, rows - len(expected)),
            "stale": wrong, "blamed": blamed, "seconds": round(seconds)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    serve_client.PROGRAM = os.path.abspath(options.program)
    result = run(options)
    result["command"] = (f"tests/reliability/pool.py --jobs {options.jobs} --seconds "
                         f"{options.seconds:g} --seed {options.seed}")  # fmt: skip
    result["date"] = time.strftime("%Y-%m-%d", time.gmtime())
    print(result)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            file.write("# made by tests/reliability/pool.py, on a machine without a GPU\n")
            table = csv.DictWriter(file, list(result), lineterminator="\n")
            table.writeheader()
            table.writerow(result)
    sys.exit(bool(result["lost"] or result["doubled"] or result["stale"]))


if __name__ == "__main__":
    main()
