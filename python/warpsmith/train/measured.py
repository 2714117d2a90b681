"""Rows of judged kernels: recordings (.wsrec), and tables of tuned matrix products."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median_low
from typing import Any

from warpsmith._program import BadInput, program
from warpsmith.formats import files, recording
from warpsmith.train.rows import TRAIN, HoldOut, Row

NEAR_BEST = 0.97  # of a subject's best ratio: what "as fast as you can" may be answered with
CLEARLY_FASTER = 1.05  # the least ratio of an improvement, between the intervals' near ends
MOST_IMPROVEMENTS = 24  # of one subject
MOST_SHOWN_BYTES = 6000  # of the slower kernel in an improvement's context


@dataclass
class Measured:
    """Judged kernels as rows without words, and the headers that they include."""

    rows: list[Row] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)  # SHA-256 -> text
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)  # of families but hgemm
    devices: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> facts

    def add(self, other: Measured) -> None:
        self.rows += other.rows
        self.sources |= other.sources
        self.tasks |= other.tasks
        self.devices |= other.devices


def _put_candidate(row: Row, body: dict[str, Any], sources: dict[str, str]) -> Row:
    """With the code, plan and headers of a candidate as recordings keep it."""
    headers = {name: digest for name, digest in body["sources"].items() if name != body["entry"]}
    return replace(row, code=sources[body["sources"][body["entry"]]], file=body["entry"],
                   plan=body.get("plan"), sources=headers, compiles="judged")  # fmt: skip


def _gemm_shape(task: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any] | None:
    layout = task.get("reference", {}).get("options", {}).get("layout")
    if task.get("reference", {}).get("kind") != "gemm" or layout not in ("TN", "NN"):
        return None
    return {"m": sizes["M"], "n": sizes["N"], "k": sizes["K"], "layout": layout,
            "dtype": task["tensors"][0]["dtype"]}  # fmt: skip


def _task_name(shape: dict[str, Any]) -> str:
    name = f"hgemm:{shape['m']}x{shape['n']}x{shape['k']}:{shape['layout']}"
    return name if shape["dtype"] == "f16" else f"{name}:{shape['dtype']}"


def from_recording(path: Path, license: str) -> Measured:
    """The kernels that passed. What failed is no example of anything here."""
    read = recording.read(path, with_sources=True)
    device = read.header["device"]["name"]
    found = Measured(devices={device: read.header["device"]})
    for space in read.spaces:
        shape = _gemm_shape(space.task, space.workload["sizes"])
        name = space.task["name"]
        if shape is None:
            found.tasks[name] = space.task
        for index, point in enumerate(space.points):
            if point.candidate is None or point.ratio is None or point.interval is None:
                continue
            row = Row(
                kind="variant", origin=f"{path.name}#{space.name}/{index}", license=license,
                family="hgemm" if shape else name, code="", shape=shape,
                task=_task_name(shape) if shape else name,
                measured={"device": device, "level": point.body.get("level", "screened"),
                          "baseline": point.bar, "us": point.median_us, "ratio": point.ratio,
                          "interval": list(point.interval)})  # fmt: skip
            if shape:
                row.point = {"family": point.family, "values": point.values}
            row = _put_candidate(row, point.candidate, read.sources)
            found.sources |= {one: read.sources[one] for one in row.sources.values()}
            found.rows.append(row)
    return found


# ---- tables of tuned matrix products -------------------------------------------------------------

_COLUMNS = ("ratio_to_cublaslt", "lo", "hi")
_SIZES = re.compile(r"(\d{1,8})x(\d{1,8})x(\d{1,8})")


@dataclass(frozen=True)
class TuningRow:
    shape: str
    kernel: str  # "wgmma tile_m=64 ..."
    ratio: float
    interval: tuple[float, float]


def read_tuning_rows(path: Path) -> list[TuningRow]:
    """Of `warpsmith hgemm tune`, all of layout TN; a kernel measured several times is one row."""
    data = files.read_bytes(path)
    try:
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        text = data.decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise files.bad(path, f"is no table: {error}") from None
    table = csv.DictReader(io.StringIO("\n".join(
        line for line in text.splitlines() if not line.startswith("#"))))  # fmt: skip
    measured = defaultdict(list)
    for row in table:
        try:
            ratio, low, high = (float(row[name]) for name in _COLUMNS)
            kernel = row.get("kernel") or row["point"]
            fits = _SIZES.fullmatch(row["shape"]) and all(map(math.isfinite, (ratio, low, high)))
        except (LookupError, TypeError, ValueError):
            raise files.bad(path, f"line {table.line_num} is no tuning row") from None
        if not fits or "\n" in kernel:
            raise files.bad(path, f"line {table.line_num} is no tuning row")
        if ratio > 0:  # 0: it failed
            measured[row["shape"], kernel].append((ratio, low, high))
    rows = []
    for (shape, kernel), times in measured.items():
        ratio, low, high = median_low(times)
        rows.append(TuningRow(shape, kernel, ratio, (low, high)))
    return rows


def _candidates(asked: list[TuningRow]) -> Iterator[tuple[int, dict[str, Any], dict[str, str]]]:
    """Index, candidate and all sources so far, as the program makes them today."""
    command = [program(), "hgemm", "features", "--candidates"]
    lines = "".join(f"{row.shape} TN {row.kernel}\n" for row in asked)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BadInput("bad-input", f"{' '.join(command[1:])}: {done.stderr.strip()[:300]}")
    sources: dict[str, str] = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        if "source" in answer:
            sources[answer["source"]] = answer["text"]
        elif answer["body"] is not None:
            yield answer["candidate"][1] - 1, answer["body"], sources


def from_tuning_rows(paths: list[Path], license: str, device: str) -> Measured:
    """Kernels made anew from their names: the tables hold no code."""
    found = Measured()
    asked, origins = [], []
    for path in paths:
        rows = read_tuning_rows(path)
        asked += rows
        origins += [path.name] * len(rows)
    for index, body, sources in _candidates(asked):
        one = asked[index]
        m, n, k = map(int, one.shape.split("x"))
        family, *values = one.kernel.split()
        shape = {"m": m, "n": n, "k": k, "layout": "TN", "dtype": "f16"}
        point = {name: int(value) for name, value in (pair.split("=") for pair in values)}
        row = Row(kind="variant", origin=f"{origins[index]}#{one.shape}", license=license,
                  family="hgemm", code="", shape=shape, task=_task_name(shape),
                  point={"family": family, "values": point},
                  measured={"device": device, "level": "screened", "baseline": "cublaslt-auto",
                            "us": None, "ratio": one.ratio,
                            "interval": list(one.interval)})  # fmt: skip
        row = _put_candidate(row, body, sources)
        found.sources |= {digest: sources[digest] for digest in row.sources.values()}
        found.rows.append(row)
    return found


# ---- words ---------------------------------------------------------------------------------------


def _ratio_text(row: Row) -> str:
    measured = row.measured or {}
    low, high = measured["interval"]
    return f"{measured['ratio']:.3g}x [{low:.3g}, {high:.3g}] of {measured['baseline']}"


def _values_text(row: Row) -> str:
    point = row.point or {}
    values = ", ".join(f"{name} = {value}" for name, value in sorted(point["values"].items()))
    return f"the family {point['family']} with {values}"


def _product_text(shape: dict[str, Any]) -> str:
    stored = "stored as N x K" if shape["layout"] == "TN" else "row-major K x N"
    return (f"the matrix product C = A * B with M = {shape['m']}, N = {shape['n']}, "
            f"K = {shape['k']}: A is row-major M x K, B is {stored}, C is row-major M x N; "
            f"{shape['dtype']} in and out, sums in f32")  # fmt: skip


def _task_text(task: dict[str, Any]) -> str:
    """Hidden workloads are not told of."""
    tensors = "; ".join(f"{one['name']}: {one['dtype']} [{', '.join(map(str, one['shape']))}], "
                        f"{one['role']}" for one in task["tensors"])  # fmt: skip
    sizes = [one["sizes"] for one in task.get("workloads", []) if not one.get("hidden")]
    shown = "; ".join(", ".join(f"{n} = {v}" for n, v in one.items()) for one in sizes)
    return f"the task {task['name']} (tensors {tensors}). Sizes: {shown}"


def _reference_text(task: dict[str, Any]) -> str:
    texts = task.get("reference", {}).get("sources", {})
    return "".join(f"The reference, {name}:\n{text.rstrip()}\n" for name, text in texts.items())


def _device_text(device: dict[str, Any]) -> str:
    return (f"{device['name']} ({device['architecture']}): {device['sm_count']} SMs, "
            f"{device['max_shared_bytes_per_block']} bytes of shared memory a block, "
            f"{device['l2_bytes'] >> 20} MiB of L2, {device['hbm_bytes_per_s'] / 1e12:g} TB/s, "
            f"{device['tensor_f16_flops'] / 1e12:g} TFLOP/s in f16.")  # fmt: skip


def _distance(a: dict[str, Any], b: dict[str, Any]) -> float:
    return sum(abs(math.log2(a[size] / b[size])) for size in "mnk")


class _Neighbours:
    """The best kernels of the training shapes that are most like a shape."""

    def __init__(self, best: dict[str, Row]):
        self._best = [row for row in best.values() if row.shape and row.split == TRAIN]
        self._known: dict[str, str] = {}

    def text(self, row: Row) -> str:
        shape, subject = row.shape or {}, row.subject
        if subject not in self._known:
            like = [one for one in self._best if one.subject != subject and one.shape
                    and one.shape["layout"] == shape["layout"]]  # fmt: skip
            like.sort(key=lambda one: (_distance(shape, one.shape or {}), one.subject))
            lines = [f"- {one.subject.removeprefix('hgemm:')}: {_values_text(one)}: "
                     f"{_ratio_text(one)}\n" for one in like[:3]]  # fmt: skip
            head = "Measured on sizes like these (time of the baseline / own time):\n"
            self._known[subject] = head + "".join(lines) if lines else ""
        return self._known[subject]


def _family_texts(measured: Measured) -> Callable[[Row], str]:
    """What the head of the family's header says, as it was when the kernel was made."""
    known: dict[str, str] = {}

    def text(row: Row) -> str:
        name = f"{(row.point or {}).get('family')}.cuh"
        digest = row.sources.get(name)
        if digest is None:
            return ""
        if digest not in known:
            lines = []
            for line in measured.sources[digest].splitlines():
                if not line.startswith("//"):
                    break
                lines.append(line.removeprefix("//").removeprefix(" "))
            known[digest] = f"The family, from {name}:\n" + "\n".join(lines)[:2000] + "\n"
        return known[digest]

    return text


def described(measured: Measured, hold_out: HoldOut) -> list[Row]:
    """The rows with instruction, context and split, the best of each subject first, and behind them
    the improvements."""
    by_subject = defaultdict(list)
    for row in measured.rows:
        row.split = hold_out.split(row)
        by_subject[row.subject].append(row)
    for rows in by_subject.values():
        rows.sort(key=lambda row: (-(row.measured or {})["ratio"], row.code))
    best = {subject: rows[0] for subject, rows in by_subject.items()}
    neighbours, family_text = _Neighbours(best), _family_texts(measured)

    def context(row: Row) -> str:
        device = measured.devices.get((row.measured or {})["device"])
        parts = [_device_text(device) + "\n" if device else ""]
        if row.shape:
            parts += [family_text(row), neighbours.text(row)]
        else:
            parts += [_reference_text(measured.tasks[row.family])]
        return "\n".join(part for part in parts if part)

    described = []
    for rows in by_subject.values():
        fast = (rows[0].measured or {})["ratio"] * NEAR_BEST
        for row in rows:
            what = _product_text(row.shape) if row.shape else _task_text(measured.tasks[row.family])
            wish = f"Write a CUDA kernel with its launch plan for {what}."
            if (row.measured or {})["ratio"] >= fast:
                row.instruction = wish + " Make it as fast as you can."
            elif row.shape:
                row.instruction = f"{wish} Use {_values_text(row)}."
            else:
                row.instruction = f"{wish} A correct kernel will do."
            row.context = context(row)
            described.append(row)
        described += _improvements(rows)
    return described


def _improvements(rows: list[Row]) -> list[Row]:
    """Pairs of a slower and a clearly faster kernel: the best ones, each beside one from further
    down, evenly spread."""
    pairs = []
    count = min(MOST_IMPROVEMENTS, len(rows) // 4)
    for number, fast in enumerate(rows[:count]):
        slow = rows[len(rows) - 1 - number * (len(rows) // 2) // max(count, 1)]
        apart = (fast.measured or {})["interval"][0] / (slow.measured or {})["interval"][1]
        if apart < CLEARLY_FASTER or len(slow.code) > MOST_SHOWN_BYTES:
            continue
        name = _values_text(slow) if slow.point else "another kernel"
        shown = f"{fast.context}\nNow: {name}: {_ratio_text(slow)}\n\n{slow.completion()}"
        wish = fast.instruction.split(" Make it ")[0].split(" Use ")[0]
        wish = f"{wish} There is one already, below; write a faster one."
        pairs.append(replace(fast, kind="improvement", instruction=wish, context=shown))
    return pairs
