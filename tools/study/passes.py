"""Combines passes of `warpsmith hgemm bench --against` over the same shapes into one table.

    passes.py PASS.csv PASS.csv... [--csv ROWS.csv] [--markdown]

The interval in a row of one pass is of one process: it does not know what another process, with
other addresses, on another day or GPU, would have measured. Here every pass is one draw. For each
mode, size class and contender, the variance of a pass is pooled over all shapes that two or more
passes hold; a shape's mean over its P passes has the interval mean +- z * sqrt(variance / P), in
logarithms. What all shapes of one pass share (the host, the GPU) does not average out over shapes,
so the geometric mean of each pass is shown beside the mean of all.

Printed are, for each mode and class: shapes, the geometric mean with the least and greatest of any
pass, ratios of at least 1.00 and 0.99, shapes shown to be slower and shown below 0.99 (the whole
99 % interval), the worst, the spread of one pass in per cent, and how probably a true difference of
2 % would be found. Then A/A: where the library runs the very kernel that is also launched alone,
how often the two are called different.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, fmean

CONTENDERS = {"kernel": "ratio_kernel", "library": "ratio", "without overlap": "ratio_plain"}
CLASSES = [("tiny", 2.0**28), ("small", 2.0**33), ("medium", 2.0**37), ("large", math.inf)]
Z = NormalDist().inv_cdf(0.995)  # of a 99 % interval

Shape = tuple[int, int, int]
Key = tuple[str, str]  # mode, contender


@dataclass(frozen=True)
class Row:
    """One shape in one mode: the logarithms of the bar's time over each contender's."""

    logs: dict[str, float]
    choice: str  # the kernel that the library runs, or cublaslt


Pass = dict[tuple[Shape, str], Row]


def class_of(shape: Shape) -> str:
    flops = 2.0 * shape[0] * shape[1] * shape[2]
    return next(name for name, most in CLASSES if flops <= most)


def read_pass(path: Path) -> Pass:
    text = path.read_text().splitlines()
    # A library without its pack runs cuBLASLt alone: it says nothing of ours.
    without_pack = "# pack: none" in text
    rows: Pass = {}
    for row in csv.DictReader([line for line in text if line and not line.startswith("#")]):
        shape = (int(row["m"]), int(row["n"]), int(row["k"]))
        logs = {}
        for name, column in CONTENDERS.items():
            if row.get(column) and not (without_pack and name == "library"):
                logs[name] = math.log(float(row[column]))
        rows[shape, row["mode"]] = Row(logs, row["choice"])
    if not rows:
        raise SystemExit(f"passes.py: {path}: no rows of a comparison")
    return rows


def pooled_variance(groups: list[list[float]]) -> float | None:
    """Of one draw; None where no group has two."""
    squares = sum(sum((x - fmean(group)) ** 2 for x in group) for group in groups)
    freedom = sum(len(group) - 1 for group in groups)
    return squares / freedom if freedom else None


def draws_of(passes: list[Pass]) -> dict[Key, dict[Shape, list[float]]]:
    draws: dict[Key, dict[Shape, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in passes:
        for (shape, mode), row in one.items():
            for contender, log in row.logs.items():
                draws[mode, contender][shape].append(log)
    return draws


@dataclass(frozen=True)
class Combined:
    shape: Shape
    mean: float  # of the logarithms
    passes: int
    half: float  # half the width of the 99 % interval of the mean; nan: there is one pass of all


def combine(by_shape: dict[Shape, list[float]]) -> tuple[list[Combined], dict[str, float]]:
    """The shapes, and the standard deviation of one pass by class."""
    spread: dict[str, float] = {}
    for name, _ in CLASSES:
        variance = pooled_variance([v for s, v in by_shape.items() if class_of(s) == name])
        spread[name] = math.nan if variance is None else math.sqrt(variance)
    combined = [
        Combined(shape, fmean(logs), len(logs), Z * spread[class_of(shape)] / math.sqrt(len(logs)))
        for shape, logs in by_shape.items()
    ]
    return combined, spread


def power(spread: float, passes: int, effect: float = math.log(1.02)) -> float:
    """How probably a true difference of 2 % is called one."""
    error = spread / math.sqrt(passes)
    if not error > 0:
        return math.nan
    normal = NormalDist()
    return 1 - normal.cdf(Z - effect / error) + normal.cdf(-Z - effect / error)


def line_of(name: str, rows: list[Combined], spread: float, each: list[float]) -> list[str]:
    worst = min(rows, key=lambda row: row.mean)
    passes = fmean(row.passes for row in rows)
    found = power(spread, round(passes))
    return [
        name,
        str(len(rows)),
        f"{passes:.2f}",
        f"{math.exp(fmean(row.mean for row in rows)):.3f}",
        f"{min(each):.3f} to {max(each):.3f}",
        str(sum(row.mean >= 0 for row in rows)),
        str(sum(row.mean >= math.log(0.99) for row in rows)),
        str(sum(row.mean + row.half < 0 for row in rows)),
        str(sum(row.mean + row.half < math.log(0.99) for row in rows)),
        f"{math.exp(worst.mean):.3f} at {'x'.join(map(str, worst.shape))}",
        f"{100 * spread:.2f}" if not math.isnan(spread) else "",
        f"{found:.2f}" if not math.isnan(found) else "",
    ]


TITLES = ["class", "shapes", "passes", "geomean", "of one pass", ">= 1.00", ">= 0.99",
          "shown slower", "shown below 0.99", "worst", "spread, %", "2 % found"]  # fmt: skip


def geomeans(passes: list[Pass], key: Key, name: str | None) -> list[float]:
    """Of each pass, over the shapes that all passes which have any of the class share."""
    mode, contender = key
    logs = []
    for one in passes:
        own = {s: row.logs[contender] for (s, m), row in one.items()
               if m == mode and contender in row.logs and name in (None, class_of(s))}  # fmt: skip
        if own:
            logs.append(own)
    shared = set.intersection(*(set(own) for own in logs))
    return [math.exp(fmean(own[s] for s in shared)) for own in logs] if shared else [math.nan]


def tables(passes: list[Pass]) -> dict[Key, list[list[str]]]:
    found: dict[Key, list[list[str]]] = {}
    for key, by_shape in draws_of(passes).items():
        rows, spread = combine(by_shape)
        lines = []
        for name, _ in CLASSES:
            of_class = [row for row in rows if class_of(row.shape) == name]
            if of_class:
                each = geomeans(passes, key, name)
                lines.append(line_of(name, of_class, spread[name], each))
        lines.append(line_of("all", rows, math.nan, geomeans(passes, key, None)))
        found[key] = lines
    return found


def again(passes: list[Pass]) -> dict[str, tuple[int, int, float]]:
    """A/A by mode: comparisons, how many are called different, the spread of one pass."""
    differences: dict[tuple[str, str], dict[Shape, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in passes:
        for (shape, mode), row in one.items():
            if row.choice != "cublaslt" and {"kernel", "library"} <= row.logs.keys():
                difference = row.logs["library"] - row.logs["kernel"]
                differences[mode, class_of(shape)][shape].append(difference)
    found: dict[str, tuple[int, int, float]] = {}
    for (mode, _), by_shape in differences.items():
        variance = pooled_variance(list(by_shape.values()))
        if variance is None:
            continue
        groups = [logs for logs in by_shape.values() if len(logs) > 1]
        # What dispatch costs in this mode and class is no difference between the kernels.
        shift = fmean(fmean(logs) for logs in groups)
        different = sum(
            abs(fmean(logs) - shift) > Z * math.sqrt(variance / len(logs)) for logs in groups
        )
        count, before, _ = found.get(mode, (0, 0, 0.0))
        found[mode] = (count + len(groups), before + different, math.sqrt(variance))
    return found


def write_rows(passes: list[Pass], path: Path) -> None:
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["m", "n", "k", "mode", "contender", "passes", "ratio", "lo", "hi"])
        for (mode, contender), by_shape in sorted(draws_of(passes).items()):
            for row in sorted(combine(by_shape)[0], key=lambda one: one.shape):
                ends = [math.exp(row.mean + sign * row.half) for sign in (0, -1, 1)]
                out.writerow([*row.shape, mode, contender, row.passes, *(f"{x:.5g}" for x in ends)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("passes", nargs="+", type=Path)
    parser.add_argument("--csv", type=Path, help="a row a shape, mode and contender")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    passes = [read_pass(path) for path in options.passes]
    separator = " | " if options.markdown else "  "
    for (mode, contender), lines in sorted(tables(passes).items()):
        print(f"\nmode {mode}, {contender}")
        for cells in [TITLES, *lines]:
            print(separator.join(cells))
    print("\nA/A: the library beside the kernel that it runs")
    for mode, (count, different, spread) in sorted(again(passes).items()):
        print(f"{mode}: {different} of {count} called different")
    if options.csv:
        write_rows(passes, options.csv)


if __name__ == "__main__":
    sys.exit(main())
