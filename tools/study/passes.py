"""Combines passes of `warpsmith hgemm bench --against` over the same shapes into one table.

    passes.py PASS.csv PASS.csv... [--catalogue CATALOGUE.csv] [--csv ROWS.csv] [--markdown]

A pass in several files, of different shapes, is written A.csv,B.csv; files may end in .gz.

The interval in a row of one pass is of one process: it does not know what another process, with
other addresses, on another day or GPU, would have measured. Here every pass is one draw. For each
mode, size class and contender, what a pass lies off the truth by is pooled over all shapes that two
or more passes hold. It has longer tails than a normal distribution, so the 99 % interval of a
shape's mean over its P passes is mean +- q / sqrt(P), in logarithms, where q is what one pass in a
hundred lies off by or more. What all shapes of one pass share (the host, the GPU) does not average
out over shapes, so the geometric mean of each pass is shown beside the mean of all.

Printed are a table for each mode and contender, whose columns LEGEND explains. Then A/A: where the
library runs the very kernel that is also launched alone, and that kernel needs no workspace (the
library's lies elsewhere), how often the two are called different.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

CONTENDERS = {"kernel": "ratio_kernel", "library": "ratio", "without overlap": "ratio_plain"}
CLASSES = [("tiny", 2.0**28), ("small", 2.0**33), ("medium", 2.0**37), ("large", math.inf)]
CONFIDENCE = 0.99
LEGEND = """\
Ratios are the bar's time over ours: above 1 ours is faster.
  class            by 2*M*N*K: tiny to 2^28, small to 2^33, medium to 2^37, large above
  passes           that a shape was measured in, on average
  of one pass      the least and the greatest geometric mean of a pass
  >= 1.00, 0.99    shapes whose mean is so great
  shown            shapes whose whole 99 % interval lies there
  q                what one pass in a hundred lies off by, or more
  2 % found        how often a true difference of 2 % would be shown
Modes: device a graph with hot L2, device-cold with cold L2, offline back to back, server single
calls.
"""

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


def read_pass(files: str) -> Pass:
    rows: Pass = {}
    for name in files.split(","):
        rows |= read_file(Path(name))
    return rows


def lines_of(table: Path) -> list[str]:
    packed = table.suffix == ".gz"
    return (gzip.open(table, "rt").read() if packed else table.read_text()).splitlines()


def has_pack(lines: list[str]) -> bool:
    """A library without its pack runs cuBLASLt alone: it says nothing of ours."""
    return "# pack: none" not in lines


def read_file(path: Path) -> Pass:
    text = lines_of(path)
    with_library = has_pack(text)
    rows: Pass = {}
    for row in csv.DictReader([line for line in text if line and not line.startswith("#")]):
        shape = (int(row["m"]), int(row["n"]), int(row["k"]))
        logs = {}
        for name, column in CONTENDERS.items():
            if row.get(column) and (with_library or name != "library"):
                logs[name] = math.log(float(row[column]))
        rows[shape, row["mode"]] = Row(logs, row["choice"])
    if not rows:
        raise SystemExit(f"passes.py: {path}: no rows of a comparison")
    return rows


def choices_of(catalogue: Path) -> dict[Shape, str]:
    text = [line for line in lines_of(catalogue) if not line.startswith("#")]
    return {
        (int(row["m"]), int(row["n"]), int(row["k"])): row[
            "kernel" if row["choice"] == "kernel" else "choice"
        ]
        for row in csv.DictReader(text)
    }


def as_chosen(one: Pass, choices: dict[Shape, str]) -> Pass:
    """Without the library's times where it ran another choice than the catalogue's of today."""
    return {
        (shape, mode): row
        if choices.get(shape) == row.choice
        else Row({name: log for name, log in row.logs.items() if name != "library"}, row.choice)
        for (shape, mode), row in one.items()
    }


def deviations(groups: list[list[float]]) -> list[float]:
    """What single draws lie off by: from the group's mean, which follows its draws a little."""
    off = []
    for group in groups:
        for draw in group if len(group) > 1 else []:
            off.append(abs(draw - fmean(group)) * math.sqrt(len(group) / (len(group) - 1)))
    return sorted(off)


def quantile(ordered: list[float], share: float) -> float:
    """nan of nothing."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else math.nan


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


def combine(by_shape: dict[Shape, list[float]]) -> tuple[list[Combined], dict[str, list[float]]]:
    """The shapes, and what single passes lie off by, by class."""
    off = {
        name: deviations([logs for shape, logs in by_shape.items() if class_of(shape) == name])
        for name, _ in CLASSES
    }
    combined = [
        Combined(shape, fmean(logs), len(logs),
                 quantile(off[class_of(shape)], CONFIDENCE) / math.sqrt(len(logs)))
        for shape, logs in by_shape.items()
    ]  # fmt: skip
    return combined, off


def power(off: list[float], passes: int, effect: float = math.log(1.02)) -> float:
    """How often a true difference is called one: the interval of the mean must exclude zero, and
    the mean lies off the difference to either side as often."""
    if not off:
        return math.nan
    half = quantile(off, CONFIDENCE) / math.sqrt(passes)
    found = sum(
        (effect + sign * one / math.sqrt(passes) > half) for one in off for sign in (-1, 1)
    )
    return found / (2 * len(off))


def line_of(name: str, rows: list[Combined], off: list[float], each: list[float]) -> list[str]:
    worst = min(rows, key=lambda row: row.mean)
    passes = fmean(row.passes for row in rows)
    found = power(off, round(passes))
    return [
        name,
        str(len(rows)),
        f"{passes:.2f}",
        f"{math.exp(fmean(row.mean for row in rows)):.3f}",
        f"{min(each):.3f} to {max(each):.3f}" if not math.isnan(each[0]) else "-",
        str(sum(row.mean >= 0 for row in rows)),
        str(sum(row.mean >= math.log(0.99) for row in rows)),
        str(sum(row.mean + row.half < 0 for row in rows)),
        str(sum(row.mean + row.half < math.log(0.99) for row in rows)),
        f"{math.exp(worst.mean):.3f} at {'x'.join(map(str, worst.shape))}",
        f"{100 * quantile(off, CONFIDENCE):.2f}" if off else "",
        f"{found:.2f}" if not math.isnan(found) else "",
    ]


TITLES = ["class", "shapes", "passes", "geomean", "of one pass", ">= 1.00", ">= 0.99",
          "shown slower", "shown below 0.99", "worst", "q, %", "2 % found"]  # fmt: skip


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
        rows, off = combine(by_shape)
        lines = []
        for name, _ in CLASSES:
            of_class = [row for row in rows if class_of(row.shape) == name]
            if of_class:
                each = geomeans(passes, key, name)
                lines.append(line_of(name, of_class, off[name], each))
        lines.append(line_of("all", rows, [], geomeans(passes, key, None)))
        found[key] = lines
    return found


def has_workspace(choice: str) -> bool:
    return any(int(count) > 1 for count in re.findall(r"\b(?:slices|splits)=(\d+)", choice))


def again(passes: list[Pass]) -> dict[str, tuple[int, int]]:
    """A/A by mode: comparisons, and how many are called different."""
    differences: dict[tuple[str, str], dict[Shape, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in passes:
        for (shape, mode), row in one.items():
            same_kernel = row.choice != "cublaslt" and not has_workspace(row.choice)
            if same_kernel and {"kernel", "library"} <= row.logs.keys():
                difference = row.logs["library"] - row.logs["kernel"]
                differences[mode, class_of(shape)][shape].append(difference)
    found: dict[str, tuple[int, int]] = {}
    for (mode, _), by_shape in differences.items():
        groups = [logs for logs in by_shape.values() if len(logs) > 1]
        if not groups:
            continue
        # What dispatch costs in this mode and class is no difference between the kernels.
        shift = fmean(fmean(logs) for logs in groups)
        widest = quantile(deviations(groups), CONFIDENCE)
        different = sum(abs(fmean(g) - shift) > widest / math.sqrt(len(g)) for g in groups)
        count, before = found.get(mode, (0, 0))
        found[mode] = (count + len(groups), before + different)
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
    parser.add_argument("passes", nargs="+")
    parser.add_argument(
        "--catalogue",
        type=Path,
        help="leave the library out where it ran another choice than this one's",
    )
    parser.add_argument("--csv", type=Path, help="a row a shape, mode and contender")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    passes = [read_pass(path) for path in options.passes]
    if options.catalogue:
        choices = choices_of(options.catalogue)
        passes = [as_chosen(one, choices) for one in passes]
    separator = " | " if options.markdown else "  "
    print(LEGEND, end="")
    for (mode, contender), lines in sorted(tables(passes).items()):
        print(f"\nmode {mode}, {contender}")
        widths = [max(map(len, column)) for column in zip(TITLES, *lines, strict=True)]
        for cells in [TITLES, *lines]:
            padded = cells if options.markdown else map(str.ljust, cells, widths)
            print(separator.join(padded).rstrip())
    print("\nA/A: the library beside the kernel that it runs")
    for mode, (count, different) in sorted(again(passes).items()):
        print(f"{mode}: {different} of {count} called different")
    if options.csv:
        write_rows(passes, options.csv)


if __name__ == "__main__":
    sys.exit(main())
