"""Counts what Kernel Tuner's strategies evaluate on our recorded spaces until 1 % from the best.

    kernel_tuner_strategies.py --output CSV [--seeds 5] [--strategies a,b] [RECORDING...]

The figure that measure_search.py gives for our searches, on the same spaces: how many different
kernels are measured until one is within 1 % of the space's fastest, LIMIT where none was. A space is
given to Kernel Tuner (simulation mode) with the family as one more parameter, and only with the
points that were recorded. Kernel Tuner knows nothing of a space beforehand; our searches have a cost model that has
not seen the shape.
Here the score is the time, in measure_search.py the ratio to the primary baseline.

A search that ends by an error of Kernel Tuner's counts as LIMIT, and is named.

Needs kernel_tuner 1.5 beside requirements.txt, and nothing of warpsmith's program.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from warpsmith.formats import recording

LIMIT = 200
GOOD = 1.01  # of the fastest time
# Those that its documentation names as defaults or as the best, with their own default options.
STRATEGIES = ("random_sample", "bayes_opt", "genetic_algorithm", "simulated_annealing", "greedy_ils",
              "diff_evo", "pso", "dual_annealing", "firefly_algorithm")  # fmt: skip


def merged(space: recording.Space) -> dict:
    """A cache file of the whole space: parameters of all families, 0 where a family has none."""
    names = list(dict.fromkeys(name for point in space.points for name in point.values))
    families = sorted({point.family for point in space.points})
    keys = ["family", *names]
    cache = {}
    for point in space.points:
        values = {"family": families.index(point.family)}
        values |= {name: point.values.get(name, 0) for name in names}
        time = point.median_us / 1000 if point.median_us is not None else "RuntimeFailedConfig"
        cache[",".join(str(values[name]) for name in keys)] = {
            **values, "time": time, "times": [], "compile_time": 0, "verification_time": 0,
            "benchmark_time": 0, "framework_time": 0, "strategy_time": 0,
            "timestamp": "2026-01-01 00:00:00",
        }  # fmt: skip
    return {
        "device_name": "recorded", "kernel_name": "k", "problem_size": [1],
        "tune_params_keys": keys, "objective": "time",
        "tune_params": {name: sorted({row[name] for row in cache.values()}) for name in keys},
        "cache": cache,
    }  # fmt: skip


def evaluations(cache: dict, path: Path, strategy: str, seed: int) -> int:
    import kernel_tuner
    import numpy
    from kernel_tuner import interface, searchspace

    random.seed(seed)
    numpy.random.seed(seed)
    # The recorded points are the space: all combinations of the values are far too many to try.
    interface.Searchspace = lambda *_, **__: searchspace.Searchspace(
        None, None, None, from_cache=cache
    )
    with contextlib.redirect_stdout(io.StringIO()):
        found, _ = kernel_tuner.tune_kernel(
            "k", "__global__ void k() {}", (1,), [], cache["tune_params"], lang="CUDA",
            simulation_mode=True, cache=str(path), quiet=True, strategy=strategy,
            strategy_options={"max_fevals": LIMIT, "time_limit": 10**6},
        )  # fmt: skip
    times = [row["time"] for row in cache["cache"].values() if not isinstance(row["time"], str)]
    seen = set()
    for result in found:
        seen.add(",".join(str(result[name]) for name in cache["tune_params_keys"]))
        if not isinstance(result["time"], str) and result["time"] <= min(times) * GOOD:
            return min(len(seen), LIMIT)
    return LIMIT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("recordings", nargs="*", type=Path, help="default: the shipped spaces")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--spaces", type=int, help="only the first so many spaces of a recording")
    options = parser.parse_args()
    given = options.recordings or sorted((ROOT / "data/recordings/spaces").glob("*.wsrec"))
    rows = []
    with tempfile.TemporaryDirectory() as folder, options.output.open("w", newline="") as output:
        output.write("# tools/study/kernel_tuner_strategies.py: evaluations until one is within 1 % of "
                     f"the space's fastest; {LIMIT}: not by then\n")  # fmt: skip
        writer = csv.writer(output)
        writer.writerow(("strategy", "space", "seed", "evaluations"))
        for file in given:
            for space in recording.read(file).spaces[: options.spaces]:
                cache = merged(space)
                path = Path(folder) / "cache.json"
                path.write_text(json.dumps(cache))
                for strategy in options.strategies.split(","):
                    for seed in range(options.seeds):
                        try:
                            count = evaluations(cache, path, strategy, seed)
                        except (LookupError, ValueError) as error:  # diff_evo: an index out of range
                            print(f"{strategy} ended: {type(error).__name__}: {error}")
                            count = LIMIT
                        rows.append((strategy, f"{file.stem}/{space.workload['name']}", seed, count))
                        writer.writerow(rows[-1])
                        output.flush()
                        print(*rows[-1], flush=True)
    for strategy in options.strategies.split(","):
        counts = [row[3] for row in rows if row[0] == strategy]
        print(f"{strategy}: median {statistics.median(counts)}, mean {statistics.fmean(counts):.1f}")


main()
