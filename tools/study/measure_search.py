"""Counts what `warpsmith hgemm tune` evaluates on a recorded space until 1 % from the best.

    measure_search.py --folds FOLDER --output CSV [--program WARPSMITH] [--near CATALOGUE]

Every search replays a recorded space with FOLDER/SHAPE.json, a model that has not seen the shape
(fit_model.py --folds writes them). With --near each is run again beginning with the winners nearby
in that catalogue, without its rows for the shape and for its transpose. A search that has not come
so far after LIMIT evaluations counts as LIMIT.

Rows of other programs or models: --program, and --label for the first column; without --folds the
program's own model ranks.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from fit_model import GOOD, ROOT, files_of, group_of
from measurements import read_recording

LIMIT = 200
PROPOSERS = ("brief", "guided")


def without_shape(catalogue: str, shape: str) -> str:
    """The catalogue's text without what it says of the shape and of its transpose."""
    kept = []
    for line in catalogue.splitlines():
        sizes = line.split(",")[:3]
        is_row = len(sizes) == 3 and all(size.isdigit() for size in sizes)
        if not is_row or group_of("x".join(sizes)) != group_of(shape):
            kept.append(line)
    return "\n".join(kept) + "\n"


def evaluations(command: list[str], best: float) -> int:
    """Runs a replayed search; its evaluations until one is GOOD."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"measure_search.py: {shlex.join(command)}: {done.stderr.strip()}")
    for step in json.loads(done.stdout)["shapes"][0]["progress"]:
        if step["best_ratio"] >= GOOD * best:
            return int(step["evaluations"])
    return LIMIT


def measure(options: argparse.Namespace, recording: Path, shape: str, best: float, folder: Path):
    """A line for each proposer, with and without winners nearby."""
    command = [options.program, "hgemm", "tune", "--device", str(recording), "--shapes", shape]
    command += ["--budget", f"evals={LIMIT}", "--batch", "4", "--finalists", "0", "--json"]
    command += ["--layout", "TN"]
    if options.folds:
        command += ["--cost-model", str(options.folds / f"{shape}.json")]
    beginnings = {"the model": []}
    if options.near:
        nearby = folder / "near.csv"
        nearby.write_text(without_shape(options.near.read_text(), shape))
        beginnings["winners nearby"] = ["--near", str(nearby)]
    for proposer in PROPOSERS:
        for beginning, near in beginnings.items():
            store = folder / f"{recording.stem}-{shape}-{proposer}-{len(near)}.db"
            run = [*command, "--proposer", proposer, *near, "--store", str(store)]
            count = evaluations(run, best)
            yield (options.label, proposer, beginning, f"{recording.stem}/{shape}", count)


def options_of(arguments: list[str]) -> argparse.Namespace:
    recordings = ROOT / "data" / "recordings"
    parser = argparse.ArgumentParser(description="Measures hgemm tune on recorded spaces.")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "bin" / "warpsmith"))
    parser.add_argument("--recordings", type=Path, nargs="+")
    parser.add_argument("--folds", type=Path)
    parser.add_argument("--near", type=Path)
    parser.add_argument("--label", default="trees, shape not seen")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.recordings = options.recordings or [
        recordings / "h200-hgemm.wsrec",
        recordings / "spaces",
    ]
    return options


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for recording in files_of(options.recordings):
            best: dict[str, float] = {}
            for row in read_recording(recording)[1]:
                best[row.shape] = max(best.get(row.shape, 0.0), row.ratio)
            for shape, ratio in best.items():
                lines += measure(options, recording, shape, ratio, Path(folder))
    is_new = not options.output.exists()
    with options.output.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(["ranked_by", "proposer", "begins_with", "space", "evaluations"])
        writer.writerows(lines)
    for kind in dict.fromkeys(line[:3] for line in lines):
        counts = [line[4] for line in lines if line[:3] == kind]
        mean, median = statistics.mean(counts), statistics.median(counts)
        print(f"{', '.join(kind)}: mean {mean:.1f}, median {median:g}, {len(counts)} spaces")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
