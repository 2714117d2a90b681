"""Fits the cost model of `warpsmith hgemm tune` to what was measured on one kind of GPU.

    fit_model.py [--program WARPSMITH] [--recordings PATH...] [--tuning FILE...] --output MODEL
                 [--held-out CSV] [--folds FOLDER]

By default it reads the shipped recordings and tuning rows, from the root of a checkout. On another
GPU: record some spaces there (`warpsmith record --shapes ... --limit 0`), and name the recordings.

The features are the program's own (`warpsmith hgemm features`). The model file holds the trees as
plain arrays; `warpsmith hgemm tune --cost-model FILE` uses it, and data/hgemm/model_h200.json is
built into the program.

--held-out CSV  fits once more without each eighth of the shapes (a shape and its transpose are in
                the same eighth) and writes how many kernels of each recorded space, in the order of
                a model that has not seen its shape, are measured until one is within 1 % of the
                space's best.
--folds FOLDER  keeps those models, as FOLDER/SHAPE.json for every recorded shape.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import json
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy
import trees
from measurements import Measurement, read_features, read_recording, read_tuning_rows

ROOT = Path(__file__).resolve().parents[2]
TUNING = ("foretold_h200.csv.gz", "repeats_h200.csv.gz", "retune_h200.csv.gz")
TUNING += ("k128_h200.csv", "kinds2_h200.csv.gz")
FOLDS = 8
GOOD = 0.99  # of the best of a space
SAMPLES = 40  # rows of a model file that say what the trees predict


@dataclass
class Table:
    """Rows with their features; a kernel that was measured several times is one row."""

    rows: list[Measurement]
    names: list[str]
    features: numpy.ndarray
    device: dict

    def shapes(self) -> list[str]:
        return [row.shape for row in self.rows]

    def ratios(self) -> numpy.ndarray:
        return numpy.array([row.ratio for row in self.rows])


def merged(rows: list[Measurement]) -> list[Measurement]:
    """One row for each kernel of a shape and a space, with the geometric mean of its ratios."""
    groups: dict[tuple, list[Measurement]] = {}
    for row in rows:
        if row.ratio > 0:
            groups.setdefault((row.shape, row.layout, row.kernel, row.space), []).append(row)
    return [
        replace(same[0], ratio=float(numpy.exp(numpy.mean([numpy.log(row.ratio) for row in same]))))
        for same in groups.values()
    ]


def files_of(paths: list[Path]) -> list[Path]:
    """The recordings that are named, and those in folders that are named."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.glob("*.wsrec")) if path.is_dir() else [path]
    return files


def read_table(options: argparse.Namespace) -> Table:
    rows: list[Measurement] = []
    device: dict = {}
    recordings = files_of(options.recordings)
    for path in recordings:
        found, measured = read_recording(path)
        if device and found["name"] != device["name"]:
            raise SystemExit(
                f"fit_model.py: {path} is of a {found['name']}, {recordings[0]} of a "
                f"{device['name']}: fit one model for each kind of device"
            )
        device = device or found
        rows += measured
    for path in options.tuning:
        rows += read_tuning_rows(path)
    rows = merged(rows)
    if not rows:
        raise SystemExit("fit_model.py: nothing was measured in these files")
    program = [options.program, "hgemm", "features", "--device", str(recordings[0])]
    names, features = read_features(program, rows)
    return Table(rows, names, features, device)


def group_of(shape: str) -> str:
    """The same for a shape and its transpose: kernels that win at one win at the other."""
    m, n, k = (int(size) for size in shape.split("x"))
    return f"{min(m, n)}x{max(m, n)}x{k}"


def folds_of(rows: list[Measurement]) -> numpy.ndarray:
    """A fold for each row, by its shape; the recorded shapes are spread evenly."""

    def by_hash(group: str) -> str:
        return hashlib.sha256(group.encode()).hexdigest()

    recorded = sorted({group_of(row.shape) for row in rows if row.space}, key=by_hash)
    others = sorted({group_of(row.shape) for row in rows} - set(recorded), key=by_hash)
    fold = {group: index % FOLDS for index, group in enumerate(recorded)}
    fold |= {group: index % FOLDS for index, group in enumerate(others)}
    return numpy.array([fold[group_of(row.shape)] for row in rows])


def evaluations(predicted: numpy.ndarray, ratios: numpy.ndarray) -> int:
    """How many of a space are measured in the model's order until one is GOOD."""
    in_order = ratios[numpy.argsort(predicted, kind="stable")]
    return int(numpy.argmax(in_order >= GOOD * ratios.max())) + 1


def fit_without(table: Table, use: numpy.ndarray) -> list[dict]:
    """Trees fitted to the rows of `use` alone."""
    ratios = table.ratios()
    shapes = [row.shape for row, used in zip(table.rows, use) if used]
    return trees.fit(table.features[use], trees.slowdowns(shapes, ratios[use]))


def hold_out(table: Table, method: str, use: numpy.ndarray, options: argparse.Namespace) -> list:
    """A line for each recorded space, of a model of the rows of `use` but those of its shape."""
    fold = folds_of(table.rows)
    ratios = table.ratios()
    space = numpy.array([row.space for row in table.rows])
    lines = []
    for index in range(FOLDS):
        model = fit_without(table, use & (fold != index))
        held_out = sorted(set(space[fold == index]) - {""})
        for name in held_out:
            rows = space == name
            count = evaluations(trees.predict(model, table.features[rows]), ratios[rows])
            lines.append((method, name, int(rows.sum()), count))
            if options.folds and use.all():
                shape = name.split("/")[1]
                write_model(options.folds / f"{shape}.json", table, model, {}, options)
    return sorted(lines)


def best_us_of(table: Table) -> dict[str, float]:
    """How long the best kernels take, from the best of each recorded space."""
    best: dict[str, float] = {}
    for row in table.rows:
        if row.us > 0:
            best[row.shape] = min(best.get(row.shape, row.us), row.us)
    sizes = numpy.array([[int(size) for size in shape.split("x")] for shape in best])
    return trees.fit_best_us(sizes, numpy.array(list(best.values())))


def sample_of(table: Table, model: list[dict]) -> list[dict]:
    """Some rows with what the trees say of them, for the program to compare with."""
    step = max(1, len(table.rows) // SAMPLES)
    chosen = range(0, len(table.rows), step)
    logs = trees.predict(model, table.features[chosen]).round(6)
    rows = [table.rows[index] for index in chosen]
    return [
        {"shape": row.shape, "layout": row.layout, "kernel": row.kernel, "log": float(log)}
        for row, log in zip(rows, logs)
    ]


def summary_of(lines: list) -> dict:
    counts = [line[3] for line in lines]
    return {
        "evaluations_to_99_percent_mean": round(float(numpy.mean(counts)), 2),
        "evaluations_to_99_percent_median": float(numpy.median(counts)),
        "spaces": len(counts),
    }


def write_model(
    path: Path, table: Table, model: list[dict], held_out: dict, options: argparse.Namespace
) -> None:
    """One JSON object, a tree a line."""
    head = {
        "schema": "warpsmith.cost-model",
        "version": 1,
        "device": table.device["name"],
        "architecture": table.device["architecture"],
        "sm_count": table.device["sm_count"],
        "date": datetime.date.today().isoformat(),
        "command": options.command,
        "rows": len(table.rows),
        "shapes": len(set(table.shapes())),
        "held_out": held_out,
        "predicts": "log of how many times as long as the best kernel of the same problem",
        "best_us": best_us_of(table),
        "features": table.names,
    }
    text = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    for key, lines in (("sample", sample_of(table, model)), ("trees", model)):
        text += f" {json.dumps(key)}: [\n"
        text += ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        text += "\n ],\n" if key == "sample" else "\n ]\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + text + "}\n")


def write_held_out(path: Path, lines: list, table: Table, options: argparse.Namespace) -> None:
    with path.open("w", newline="") as file:
        date = datetime.date.today().isoformat()
        file.write(f"# {table.device['name']}, fitted {date}: {options.command}\n")
        file.write("# kernels measured in the order of a model that has not seen the shape, until ")
        file.write("one is within 1 % of the space's best\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["fitted_to", "space", "points", "evaluations"])
        writer.writerows(lines)


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fits the cost model of warpsmith hgemm tune.")
    data = ROOT / "data"
    recordings = [data / "recordings" / "h200-hgemm.wsrec", data / "recordings" / "spaces"]
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "warpsmith"))
    parser.add_argument("--recordings", type=Path, nargs="+")
    parser.add_argument("--tuning", type=Path, nargs="*")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--folds", type=Path)
    options = parser.parse_args(arguments)
    if options.recordings is None:
        options.recordings = recordings
        if options.tuning is None:
            options.tuning = [data / "perf" / f"hgemm_{name}" for name in TUNING]
    options.tuning = options.tuning or []
    options.command = "python3 tools/study/fit_model.py " + shlex.join(arguments)
    return options


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    table = read_table(options)
    everything = numpy.ones(len(table.rows), bool)
    held_out: dict = {}
    if options.held_out:
        lines = hold_out(table, "all rows", everything, options)
        held_out = summary_of(lines)
        tuning = numpy.array([not row.space for row in table.rows])
        if tuning.any():
            lines += hold_out(table, "tuning rows", tuning, options)
        write_held_out(options.held_out, lines, table, options)
    model = fit_without(table, everything)
    write_model(options.output, table, model, held_out, options)
    print(f"{options.output}: {len(table.rows)} rows, {len(model)} trees, held out: {held_out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
