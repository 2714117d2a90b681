"""What was measured of HGEMM kernels on one kind of device: recordings and tuning rows.

A recording (.wsrec) is one zstd frame of JSON lines (docs/files.md). Tuning rows are CSV
files, or such files packed by gzip, with the columns shape ("512x512x512"), kernel or point (family
and parameters), and ratio_to_cublaslt; lines that begin with # are comments.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy
import zstandard

BASELINE = "cublaslt-auto"  # what every ratio is to
MODE = "device"  # in a CUDA graph with a hot L2: what searches rank by


@dataclass(frozen=True)
class Measurement:
    """One kernel on one problem: how many times as fast as the baseline, 0 where it failed."""

    shape: str  # "512x1024x2048"
    layout: str  # "TN" or "NN"
    kernel: str  # "wgmma stages=4 tile_k=64": the family and the parameters, by name
    ratio: float
    space: str  # the recorded space that it is a point of; empty for a tuning row
    us: float = 0  # the median time, where a recording says it


def kernel_name(family: str, config: dict[str, int]) -> str:
    """A point as the program writes it."""
    return " ".join([family, *(f"{name}={value}" for name, value in sorted(config.items()))])


def ratio_of(verdict: dict) -> float:
    """The paired ratio to the baseline in the verdict of one search, 0 where there is none."""
    for timing in verdict.get("timings", []):
        for mode in timing["modes"]:
            if mode["mode"] != MODE:
                continue
            for comparison in mode["comparisons"]:
                if comparison["baseline"] == BASELINE:
                    return float(comparison["ratio"])
    return 0.0


def is_search(protocol: dict) -> bool:
    """Whether the protocol is the one that searches use: other rows repeat some of its points."""
    return protocol["level"] == "screened" and protocol["modes"] == [MODE]


def read_recording(path: Path) -> tuple[dict, list[Measurement]]:
    """The recording's device, and what its searches measured."""
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read().decode()
    device: dict = {}
    spaces: dict[int, dict] = {}
    searching: set[int] = set()
    verdicts = []
    for line in text.splitlines():
        if line.startswith('{"warpsmith_recording"'):
            device = json.loads(line)["device"]
        elif line.startswith('{"space"'):
            space = json.loads(line)
            spaces[space["space"]] = space
        elif line.startswith('{"protocol"'):
            protocol = json.loads(line)
            if is_search(protocol["body"]):
                searching.add(protocol["protocol"])
        elif line.startswith('{"verdict"'):
            verdicts.append(json.loads(line))
    rows = []
    for verdict in verdicts:
        space = spaces[verdict["at"][0]]
        name, shape, layout = space["name"].split("-")[:3]
        if verdict["protocol"] not in searching or name != "hgemm":
            continue
        kernel = kernel_name(*space["points"][verdict["at"][1]])
        where = f"{path.stem}/{shape}"
        us = next((c["median_us"] for c in verdict["contenders"] if c["at"] == [0, 0, 0]), 0.0)
        rows.append(Measurement(shape, layout, kernel, ratio_of(verdict["body"]), where, us))
    return device, rows


def read_tuning_rows(path: Path) -> list[Measurement]:
    """Rows of `warpsmith hgemm tune` on many shapes; all of them are of layout TN."""
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = []
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        kernel = row.get("kernel") or row["point"]
        rows.append(Measurement(row["shape"], "TN", kernel, float(row["ratio_to_cublaslt"]), ""))
    return rows


def read_features(program: list[str], rows: list[Measurement]) -> tuple[list[str], numpy.ndarray]:
    """Names of the features, and a line of them for every row, as the program computes them."""
    asked = "".join(f"{row.shape} {row.layout} {row.kernel}\n" for row in rows)
    try:
        answer = subprocess.run(program, input=asked, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit(f"fit_model.py: no {program[0]} (build it, or name one with --program)")
    if answer.returncode != 0:
        raise SystemExit(f"fit_model.py: {' '.join(program)}: {answer.stderr.strip()}")
    lines = answer.stdout.splitlines()
    values = numpy.loadtxt(lines[1:], delimiter=",", dtype=numpy.float32, ndmin=2)
    if len(values) != len(rows):
        raise SystemExit(f"fit_model.py: {len(rows)} kernels, features of {len(values)}")
    return lines[0].split(","), values
