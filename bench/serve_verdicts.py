"""Verdicts an hour of `warpsmith serve` on a GPU, what a verdict holds the GPU, and what a candidate
that hangs costs the job after it:
serve_verdicts.py PROGRAM CSV [--seconds 30] [--only kernels,programs,hang] [--step-limit S]
Every candidate differs, so nothing is answered from the store or from a cache of binaries. A row a
job is written as its verdict comes; what is read of them goes to stdout. Each phase ends by itself:
after SECONDS nothing more is sent, and what is at work is waited for."""

import argparse
import csv
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT / "tests" / "program"))
program, sys.argv = sys.argv[1], [sys.argv[0], *sys.argv[2:]]
import serve_client  # noqa: E402

serve_client.PROGRAM = program
SHAPE, PROGRAM_TASK, HANG_TASK = "512x512x512", "matmul-bias-relu-f16", "scale"
PATIENCE_S = 240  # without any verdict
COLUMNS = ["phase", "task", "key", "sent_s", "done_s", "gpu_seconds", "outcome", "words"]


class Bench:
    """One server; its jobs, and a file of what came of them."""

    def __init__(self, server, path):
        self.server = server
        self.file = open(path, "w", newline="")
        self.rows = csv.DictWriter(self.file, COLUMNS, lineterminator="\n")
        self.rows.writeheader()
        self.began = time.monotonic()

    def now(self):
        return time.monotonic() - self.began

    def send(self, task, candidates):
        body = {"run": "bench", "task": task, "candidates": candidates}
        status, answer, _ = self.server.ask("POST", "/v1/jobs", body)
        serve_client.expect(status == 202, f"202, not {status}: {answer}")
        return {key: self.now() for key in answer["keys"]}

    def run(self, phase, task, candidates, seconds, at_a_time=16):
        """Keeps so many candidates with the server; their rows, in the order they came in."""
        candidates, sent, rows = iter(candidates), {}, []
        stop, last = self.now() + seconds, self.now()
        while True:
            while len(sent) < at_a_time and self.now() < stop:
                if (candidate := next(candidates, None)) is None:
                    break
                sent |= self.send(task, [candidate])
            if not sent or self.now() - last > PATIENCE_S:
                return rows
            asked = "/v1/jobs?wait=5&keys=" + ",".join(sent)
            for job in self.server.ask("GET", asked)[1]["jobs"]:
                if job["state"] != "done":
                    continue
                last = self.now()
                rows.append({"phase": phase, "task": task, "key": job["key"][:16],
                             "sent_s": round(sent.pop(job["key"]), 3), "done_s": round(last, 3),
                             "gpu_seconds": round(job["gpu_seconds"], 3),
                             "outcome": job["verdict"]["outcome"],
                             "words": job["words"][:120]})  # fmt: skip
                self.rows.writerow(rows[-1])
                self.file.flush()


def report(what, rows, began):
    """`began`: when the first job of the phase was sent."""
    passed = sum(row["outcome"] == "passed" for row in rows)
    if not rows:
        return print(f"{what}: no verdict")
    wall = rows[-1]["done_s"] - began
    held = [row["gpu_seconds"] for row in rows]
    print(f"{what}: {len(rows)} verdicts ({passed} passed) in {wall:.1f} s: "
          f"{3600 * len(rows) / wall:.0f} an hour; the GPU was held {statistics.median(held):.2f} s "
          f"for the median one, {100 * sum(held) / wall:.0f} % of the time", flush=True)


def kernels():
    """Recorded configurations of a small product, in a random order."""
    recordings = str(CHECKOUT / "data/recordings")
    shown = subprocess.run([program, "hgemm", "show", SHAPE, "--device", recordings, "--top", "0",
                            "--json"], check=True, capture_output=True)  # fmt: skip
    points = [row["point"] for row in json.loads(shown.stdout)["points"]]
    random.Random(1).shuffle(points)
    return [{"family": point["family"], "values": point["config"]} for point in points]


def programs():
    """The task's own program, each with another number in it."""
    source = (CHECKOUT / "tasks" / PROGRAM_TASK / "wmma/matmul.cu").read_text()
    number = random.SystemRandom().randrange(10**9)
    while True:
        number += 1
        yield {"source": f"{source}\nextern \"C\" int number() {{ return {number}; }}\n"}


def scalers(folder):
    """Kernels from the attacks: endless ones, or honest ones."""
    path = CHECKOUT / "tests/attacks" / folder
    facts = tomllib.loads((path / "candidate.toml").read_text())
    source = (path / facts["entry"]).read_text()
    while True:
        yield {"source": f"{source}\n// {random.random()}\n", "plan": facts["plan"]}


def measure_hangs(bench, seconds):
    """Between honest kernels one that never ends: how long it is held, and what the next one waits."""
    honest, endless = scalers("twins/scale-kernel"), scalers("35-endless-kernel/attack")
    usual = bench.run("hang-warm", HANG_TASK, [next(honest) for _ in range(8)], seconds)[4:]
    for _ in range(2):
        rows = bench.run("hang", HANG_TASK, [next(endless), *(next(honest) for _ in range(3))], 5)
        at = [i for i, row in enumerate(rows) if row["outcome"] == "timed-out"]
        if not at or at[0] + 1 == len(rows):
            print(f"hang: the order of verdicts was {[row['outcome'] for row in rows]}: nothing "
                  "follows it, or it did not hang")  # fmt: skip
            continue
        hang, after = rows[at[0]], rows[at[0] + 1]
        print(f"hang: the GPU was held {hang['gpu_seconds']:.2f} s by it; the next verdict came "
              f"{after['done_s'] - hang['done_s']:.2f} s after, of which its own judging was "
              f"{after['gpu_seconds']:.2f} s (without a hang before it "
              f"{statistics.median(row['gpu_seconds'] for row in usual):.2f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("csv")
    parser.add_argument("--device", default="local")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--only", default="kernels,programs,hang")
    parser.add_argument("--step-limit", help="of the server, seconds")
    options = parser.parse_args()
    phases = options.only.split(",")
    points = kernels() if "kernels" in phases else []
    limit = ["--step-limit", options.step_limit] if options.step_limit else []
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        server = serve_client.Server("--task", str(CHECKOUT / "tasks" / PROGRAM_TASK), "--task",
                                     str(CHECKOUT / "tests/attacks/tasks/scale.toml"), *limit,
                                     store=folder + "/s.db", device=options.device)  # fmt: skip
        listening = time.monotonic() - began
        while server.ask("GET", "/readyz")[0] != 200 and time.monotonic() - began < 60:
            time.sleep(0.01)
        print(f"listening after {listening:.2f} s, ready after {time.monotonic() - began:.2f} s; "
              f"{server.ask('GET', '/v1/device')[1]['device']['name']}", flush=True)
        bench = Bench(server, options.csv)
        if "kernels" in phases:
            task = f"hgemm:{SHAPE}:TN"
            first = bench.run("kernels-first", task, points[:4], 60)
            print(f"kernels: the first four verdicts after {first[-1]['done_s']:.1f} s", flush=True)
            start = bench.now()
            report("kernels", bench.run("kernels", task, points[4:], options.seconds), start)
        if "programs" in phases:
            source, start = programs(), bench.now()
            first = bench.run("programs-first", PROGRAM_TASK, [next(source)], 60)
            print(f"programs: the first verdict, with the reference, PyTorch and its compiler, after "
                  f"{bench.now() - start:.1f} s: {[row['words'] for row in first]}", flush=True)
            start = bench.now()
            report("programs", bench.run("programs", PROGRAM_TASK, source, options.seconds, 6), start)
        if "hang" in phases:
            measure_hangs(bench, options.seconds)
        with open(options.csv + ".metrics.txt", "w") as text:
            text.write(server.ask("GET", "/metrics")[1])
        server.end()


main()
