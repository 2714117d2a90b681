"""What a policy's kernels are worth on recorded shapes, beside searches with equal evaluations.

    python -m warpsmith.train eval --samples trained/samples.csv --folds FOLDS -o evaluation.csv
    python -m warpsmith.train eval --policy FOLDER --questions FILE.jsonl -o evaluation.csv
    python -m warpsmith.train eval --policy FOLDER --data data.jsonl -o evaluation.csv

A policy tries a space's kernels in the order of their likelihood; `evaluations_95` and
`evaluations_99` say how many are measured until one is that near to the space's best. The first form
takes them from a run of examples/train/run.py; the second asks a model (torch), with a row
{"task", "prompt"} for each shape. The searches replay the same spaces (`hgemm tune
--compare-proposers`, 100 seeds each). `guided` begins with what regression trees foretell, which were
fitted without the shape where --folds names their folder (tools/study/fit_model.py --folds).

The third asks it about whole replies: each shape and each task family that data.jsonl holds out is a
space, whose kernels are its rows. Beside it stands what a random order needs on average.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from warpsmith._program import program
from warpsmith.train.data import shipped_root
from warpsmith.train.kernel_text import alike, point_of, text_of, without_defaults

STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
           2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)  # fmt: skip  97.5 %, 1 to 19 freedoms
TARGETS = (95, 99)
FAILED = -1.0  # what a reply that is not measured counts: it is no kernel that anybody could use


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, and the ends of Student's 95 % interval (NaN where there is one value alone)."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return mean, math.nan, math.nan
    quantile = STUDENT[min(len(values) - 1, len(STUDENT)) - 1]
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def evaluations_to(ratios_in_order: Sequence[float], best: float, share: float) -> int | None:
    """How many are measured in this order until one is `share` of the best; None: none is."""
    for count, ratio in enumerate(ratios_in_order, 1):
        if ratio >= share * best:
            return count
    return None


def row_of(known: dict[str, float], texts: list[str], answers: list[dict]) -> dict:
    """Rates over all samples. `share_of_best` counts what did not pass as 0."""
    count, best = len(texts), max(known.values())
    ratios = [answer["ratio"] for answer in answers if answer["outcome"] == "passed"]
    rewards = [FAILED if answer["reward"] is None else answer["reward"] for answer in answers]
    geomean = math.exp(statistics.mean(map(math.log, ratios))) if ratios else 0.0
    return {
        "samples": count,
        "distinct": len(set(texts)),
        "passed": round(len(ratios) / count, 4),
        "unmeasured": round(sum(answer["reward"] is None for answer in answers) / count, 4),
        "reward": round(sum(rewards) / count, 4),
        "share_of_best": round(sum(ratios) / best / count, 4),
        "geomean": round(geomean, 4),
        "fast_1": round(sum(ratio > 1 for ratio in ratios) / count, 4),
        "fast_1.1": round(sum(ratio > 1.1 for ratio in ratios) / count, 4),
        "within_5_percent": round(sum(ratio >= 0.95 * best for ratio in ratios) / count, 4),
    }


def recording_of(device: Path, shape: str) -> Path:
    """The shape's own file in a folder of recordings: one is read faster than all of them."""
    own = sorted(device.glob(f"*[-_]{shape}[._]*")) if device.is_dir() else []
    return own[0] if own else device


def space_of(program: str, device: Path, shape: str) -> dict[str, float]:
    """Every recorded kernel of a shape, as text, with its ratio to the baseline."""
    command = [program, "hgemm", "show", shape, "--device", recording_of(device, shape),
               "--top", "0", "--json"]  # fmt: skip
    shown = json.loads(run(command))
    points = [row for row in shown["points"] if row["outcome"] == "passed"]
    return {
        text_of(without_defaults({"family": row["point"]["family"], "values": row["point"]["config"]})):
            float(row["ratio"]) for row in points}  # fmt: skip


def run(command: list) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"evaluate: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def searches(program: str, device: Path, shapes: list[str], folds: Path | None) -> list[dict]:
    """Median evaluations of 100 seeds of random, local and guided search, for each shape."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in shapes if folds else shapes[:1]:
            where = recording_of(device, shape) if folds else device
            command = [program, "hgemm", "tune", "--device", where, "--shapes", shape, "--layout",
                       "TN", "--budget", "evals=1", "--finalists", "0", "--compare-proposers",
                       "--json", "--store", f"{folder}/{shape}.db"]  # fmt: skip
            if folds:
                command += ["--cost-model", folds / f"{shape}.json"]
            for row in json.loads(run(command))["proposers"]:
                of = row["space"].split("-")[1]
                if of == shape if folds else of in shapes:
                    name = row["proposer"]
                    if name == "guided":
                        name += ", trees without the shape" if folds else ", trees of all shapes"
                    rows.append({"method": name, "shape": of, "target": round(100 * row["fraction"]),
                                 "evaluations": row["median"], "seeds": row["seeds"]})  # fmt: skip
    return rows


def nearest_winners(catalogue: Path, shape: str, known: dict[str, float]) -> list[float]:
    """Ratios on this shape of what won on other shapes, the nearest first, each kernel once.

    Winners that the recording of this shape lacks are left out, and cost nothing.
    """
    with catalogue.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    here = [math.log2(int(size)) for size in shape.split("x")]
    far = []
    for row in rows:
        other = f"{row['m']}x{row['n']}x{row['k']}"
        if row["layout"] != "TN" or alike(other) == alike(shape) or " " not in row["kernel"]:
            continue
        there = [math.log2(int(row[name])) for name in ("m", "n", "k")]
        far.append((math.dist(here, there), other, row["kernel"]))
    texts = dict.fromkeys(text_of(without_defaults(point_of(kernel))) for _, _, kernel in sorted(far))
    return [known[text] for text in texts if text in known]


def tried(method: str, shape: str, ratios: Sequence[float]) -> list[dict]:
    """Rows of one space whose kernels are measured in this order."""
    return [{"method": method, "shape": shape, "target": target, "seeds": 1,
             "evaluations": evaluations_to(ratios, max(ratios), target / 100)}
            for target in TARGETS]  # fmt: skip


def policy_of(options: argparse.Namespace):
    import torch

    from warpsmith.train.policy import Policy

    return Policy(options.policy, "cuda" if torch.cuda.is_available() else "cpu")


def of_policy(options: argparse.Namespace, spaces: dict[str, dict[str, float]]) -> list[dict]:
    """The order in which a model would try each space."""
    policy = policy_of(options)
    rows = []
    for line in options.questions.read_text().splitlines():
        question = json.loads(line)
        shape = question["task"].split(":")[1]
        known = spaces.setdefault(shape, space_of(options.program, options.device, shape))
        order = policy.order(question["prompt"], list(known))
        ratios = [list(known.values())[index] for index in order]
        rows += tried(f"policy {options.policy.name}", shape, ratios)
    return rows


def held_out_rows(path: Path) -> dict[tuple[str, str], list[dict]]:
    """(Split, task) -> the measured kernels that the data hold out, the fastest first."""
    found: dict[tuple[str, str], list[dict]] = {}
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                if row["kind"] == "variant" and row["split"].startswith("held-out"):
                    row["ratio"] = float(row["measured"]["ratio"])
                    row["prompt"], row["completion"]
                    found.setdefault((row["split"], row["task"]), []).append(row)
            except (KeyError, TypeError, ValueError) as error:
                raise SystemExit(f"{path}:{number}: no row of `train data --form completion`: "
                                 f"{error!r}") from None  # fmt: skip
    if not found:
        raise SystemExit(f"{path}: holds out no measured kernel: make it with --hold-out, "
                         "--hold-out-shape or --hold-out-family")  # fmt: skip
    return {name: sorted(rows, key=lambda row: -row["ratio"]) for name, rows in found.items()}


def of_data(options: argparse.Namespace) -> list[dict]:
    """The order in which a model would try what the data hold out, and a random one."""
    policy = policy_of(options)
    rows = []
    for (split, task), known in held_out_rows(options.data).items():
        order = policy.order(known[0]["prompt"], [row["completion"] for row in known])
        rows += tried(f"policy {options.policy.name}, {split}", task,
                      [known[index]["ratio"] for index in order])  # fmt: skip
        for target in TARGETS:
            good = sum(row["ratio"] >= target / 100 * known[0]["ratio"] for row in known)
            rows.append({"method": f"random order, {split}", "shape": task, "target": target,
                         "seeds": "all", "evaluations": (len(known) + 1) / (good + 1)})  # fmt: skip
    return rows


def of_samples(path: Path) -> list[dict]:
    """The orders that a run noted, on the shapes that each seed held out."""
    rows = []
    with path.open() as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            for target in TARGETS:
                if row[f"evaluations_{target}"]:
                    rows.append({"method": f"policy after {row['after']}", "shape": row["shape"],
                                 "target": target, "seeds": 1,
                                 "evaluations": float(row[f"evaluations_{target}"])})  # fmt: skip
    return rows


def summary_of(rows: list[dict], limit: int) -> list[str]:
    """A line for each method: the mean over shapes, with Student's interval, and the median.

    Where a method has several seeds of a shape, the shape counts with their mean; a method that did
    not come there counts as `limit`.
    """
    lines = ["method,target,shapes,mean,low,high,median"]
    for target in TARGETS:
        for method in dict.fromkeys(row["method"] for row in rows):
            shapes: dict[str, list[float]] = {}
            for row in rows:
                if (row["method"], row["target"]) == (method, target):
                    value = limit if row["evaluations"] is None else row["evaluations"]
                    shapes.setdefault(row["shape"], []).append(value)
            if shapes:
                means = [statistics.mean(values) for values in shapes.values()]
                mean, low, high = interval(means)
                lines.append(f'"{method}",{target},{len(means)},{mean:.1f},{low:.1f},{high:.1f},'
                             f"{statistics.median(means):.1f}")  # fmt: skip
    return lines


def add_command(commands) -> None:
    words = "a model's kernels beside searches with equal evaluations, on recorded spaces"
    parser = commands.add_parser("eval", help=words, description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    root = shipped_root() or Path()
    add("--samples", type=Path, help="samples.csv of examples/train/run.py")
    add("--policy", type=Path, help="folder of a model and its tokenizer")
    add("--questions", type=Path, help='with --policy: rows {"task", "prompt"}, one a line')
    add("--data", type=Path, help="with --policy: `train data --form completion`, what it holds out")
    add("--device", type=Path, default=root / "data/recordings/spaces")
    add("--catalogue", type=Path, default=root / "data/hgemm/catalogue.csv")
    add("--folds", type=Path, help="cost models, each fitted without one shape: SHAPE.json")
    add("--program", default=os.environ.get("WARPSMITH"))
    add("--limit", type=int, default=200, help="what a method counts that never came there")
    add("-o", "--out", type=Path, required=True)
    parser.set_defaults(run=evaluate)


def evaluate(options: argparse.Namespace) -> int:
    given = [options.samples, options.policy and options.questions, options.policy and options.data]
    if sum(map(bool, given)) != 1:
        raise SystemExit("evaluate: give --samples, or --policy with --questions or --data")
    rows = of_data(options) if options.data else beside_searches(options)
    with options.out.open("w", newline="") as file:
        file.write(f"# python -m warpsmith.train {' '.join(sys.argv[1:])}\n")
        table = csv.DictWriter(file, ("method", "shape", "target", "seeds", "evaluations"),
                               lineterminator="\n")  # fmt: skip
        table.writeheader()
        table.writerows(rows)
    print("\n".join(summary_of(rows, options.limit)))
    return 0


def beside_searches(options: argparse.Namespace) -> list[dict]:
    """Of each shape of the run or the questions: the model's evaluations and the searches'."""
    options.program = options.program or program()
    spaces: dict[str, dict[str, float]] = {}
    rows = of_samples(options.samples) if options.samples else of_policy(options, spaces)
    shapes = sorted({row["shape"] for row in rows})
    rows += searches(options.program, options.device, shapes, options.folds)
    for shape in shapes:
        if shape not in spaces:
            spaces[shape] = space_of(options.program, options.device, shape)
        ratios = nearest_winners(options.catalogue, shape, spaces[shape])
        for target in TARGETS:
            found = evaluations_to(ratios, max(spaces[shape].values()), target / 100)
            rows.append({"method": "nearest winners", "shape": shape, "target": target, "seeds": 1,
                         "evaluations": found})  # fmt: skip
    return rows
