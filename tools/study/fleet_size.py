"""How many GPUs must judge for a trainer, by simulation from the verdict times of recordings.

    fleet_size.py [--samples N] [--step-seconds S] [--repeats R] [PATH...]

A step of RL asks for N verdicts at once (prompts times samples) and takes S seconds without them.
Each judge takes the next candidate when it is free. Times are drawn from what recorded verdicts took
on their GPU (`judge_ms`); a share of the candidates is refused before it (`--refused`), and a share
was judged before and is answered from the store (`--known`). Recordings hold many kernels of one
shape, whose inputs and baseline are prepared once: `--each` adds the seconds that a shape of its own
costs every candidate. Printed for each number of judges: the
seconds until the last verdict of a step (median, 95th percentile), verdicts an hour, and how much of
a step is spent waiting where judging and generating do not overlap.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import statistics
from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parents[2]


def spent_on(paths: list[Path]) -> tuple[list[float], list[float]]:
    """Seconds of GPU and of compiling (one core), of each verdict that says so."""
    judged, compiled = [], []
    for path in paths:
        files = sorted(path.glob("*.wsrec")) if path.is_dir() else [path]
        for file in files:
            with file.open("rb") as packed:
                text = zstandard.ZstdDecompressor().stream_reader(packed).read().decode()
            for line in text.splitlines():
                if line.startswith('{"verdict"'):
                    evidence = json.loads(line)["body"]["evidence"]
                    for name, seconds in (("judge_ms", judged), ("compile_ms", compiled)):
                        seconds += [evidence[name] / 1000] if evidence.get(name, 0) > 0 else []
    if not judged or not compiled:
        raise SystemExit("fleet_size.py: no verdict in these files says how long it took")
    return judged, compiled


def step_seconds(jobs: list[float], judges: int) -> float:
    """Until the last of the jobs is done, each judge taking the next one when it is free."""
    free = [0.0] * judges
    for job in jobs:
        heapq.heapreplace(free, free[0] + job)
    return max(free)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("recordings", type=Path, nargs="*",
                        default=[ROOT / "data" / "recordings" / "spaces"])  # fmt: skip
    parser.add_argument("--samples", type=int, default=1024, help="verdicts of a step")
    parser.add_argument("--step-seconds", type=float, default=240, help="a step without judging")
    parser.add_argument("--refused", type=float, default=0.3, help="share that no GPU sees")
    parser.add_argument("--known", type=float, default=0.0, help="share that was judged before")
    parser.add_argument("--each", type=float, default=0.0, help="seconds added to each verdict")
    parser.add_argument("--repeats", type=int, default=200)
    options = parser.parse_args()
    judged, compiled = spent_on(options.recordings)
    seconds = [one + options.each for one in judged]
    quantiles = statistics.quantiles(seconds, n=100)
    print(f"{len(seconds)} verdicts: {statistics.mean(seconds):.2f} s of GPU each, median "
          f"{quantiles[49]:.2f}, 99th percentile {quantiles[98]:.2f}")  # fmt: skip
    cores = options.samples * statistics.mean(compiled) / options.step_seconds
    print(f"compiling: {statistics.mean(compiled):.2f} s of one core each, so {cores:.1f} cores keep pace")
    print("judges  step_s_median  step_s_95  verdicts_an_hour  waiting")
    draws = random.Random(1)
    asked = (1 - options.refused) * (1 - options.known)
    for judges in (1, 2, 4, 8, 16, 32, 64):
        ends = []
        for _ in range(options.repeats):
            count = sum(draws.random() < asked for _ in range(options.samples))
            ends.append(step_seconds(draws.choices(seconds, k=count), judges))
        median = statistics.median(ends)
        late = statistics.quantiles(ends, n=20)[18]
        whole = median + options.step_seconds
        print(f"{judges:6} {median:14.1f} {late:10.1f} {options.samples * 3600 / whole:17.0f} "
              f"{median / whole:8.0%}")  # fmt: skip


if __name__ == "__main__":
    main()
