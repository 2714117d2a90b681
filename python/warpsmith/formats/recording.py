"""Reads recordings (.wsrec, docs/files.md): whole spaces of judged candidates."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warpsmith._program import BadInput
from warpsmith.formats import files


@dataclass(frozen=True)
class Point:
    """A judged candidate: family and values of its parameters."""

    family: str
    values: dict[str, int]
    body: dict[str, Any]  # the verdict: outcome, correctness, evidence
    median_us: float | None  # None: it did not pass
    samples_us: list[float]
    bar: str  # the primary baseline
    ratio: float | None
    gpu_seconds: float
    interval: tuple[float, float] | None = None  # of the ratio
    candidate: dict[str, Any] | None = None  # its body, where `sources` were asked for


@dataclass(frozen=True)
class Space:
    name: str
    task: dict[str, Any]
    workload: dict[str, Any]
    points: list[Point]


@dataclass(frozen=True)
class Recording:
    header: dict[str, Any]
    spaces: list[Space]
    sources: dict[str, str] = field(default_factory=dict)  # SHA-256 -> text


MOST_BYTES = 1 << 30  # of a recording's text


def _decompressed(path: Path) -> bytes:
    """At most MOST_BYTES + 1 of it."""
    data = files.read_bytes(path)
    if sys.version_info >= (3, 14):
        from compression import zstd

        try:
            return bytes(zstd.ZstdDecompressor().decompress(data, MOST_BYTES + 1))
        except zstd.ZstdError as error:
            raise files.bad(path, f"is no zstd file: {error}") from None
    try:
        import zstandard
    except ImportError:
        return _decompressed_by_tool(path, data)
    try:
        return bytes(zstandard.ZstdDecompressor().stream_reader(data).read(MOST_BYTES + 1))
    except zstandard.ZstdError as error:
        raise files.bad(path, f"is no zstd file: {error}") from None


def _decompressed_by_tool(path: Path, data: bytes) -> bytes:
    tool = shutil.which("zstd")
    if tool is None:
        raise BadInput("no-input", "nothing here reads zstd", "pip install 'warpsmith[formats]'")
    with tempfile.TemporaryFile() as packed:
        packed.write(data)
        packed.seek(0)
        with subprocess.Popen([tool, "-dcq"], stdin=packed, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:  # fmt: skip
            assert process.stdout is not None
            text = process.stdout.read(MOST_BYTES + 1)
            process.stdout.close()
        if process.returncode != 0 and len(text) <= MOST_BYTES:
            raise files.bad(path, "is no whole zstd file")
        return text


def _lines(path: Path, text: bytes, passed_over: tuple[bytes, ...]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(passed_over):
            continue
        try:
            yield files.mapping(f"{path}:{number}", json.loads(line))
        except ValueError:
            raise files.bad(f"{path}:{number}", "is no line of a recording") from None


def _point(family: str, values: dict[str, int], line: dict[str, Any]) -> Point:
    of_mode = [one for one in line.get("contenders", []) if one["at"][:2] == [0, 0]]
    times = {one["at"][2]: one for one in of_mode}
    mine, bar = times.get(0), times.get(1)
    body, seconds = line["body"], float(line.get("gpu_seconds", 0))
    if body["outcome"] != "passed" or mine is None:
        return Point(family, values, body, None, [], "", None, seconds)
    comparisons = body.get("timings", [{}])[0].get("modes", [{}])[0].get("comparisons")
    ratio = float(comparisons[0]["ratio"]) if comparisons else None
    interval = None
    if comparisons:
        low, high = comparisons[0]["interval"]
        interval = (float(low), float(high))
    samples = [float(us) for us in mine.get("us", [])]
    return Point(family, values, body, float(mine["median_us"]), samples,
                 bar["name"] if bar else "", ratio, seconds, interval)  # fmt: skip


def _space(path: Path, body: dict[str, Any], points: dict[int, Point]) -> Space:
    """What the translators rely on is checked here, once."""
    files.text_in(path, body, "name")
    files.text_in(path, files.mapping(path, body["task"]), "name")
    for value in files.mapping(path, files.mapping(path, body["workload"])["sizes"]).values():
        files.whole_in(path, value)
    for point in points.values():
        files.need(path, point.family, str, "a family")
        for value in files.mapping(path, point.values).values():
            files.whole_in(path, value, -(1 << 40))
        files.mapping(path, point.body.get("evidence", {}))
        files.finite(path, point.body.get("evidence", {}).get("compile_ms", 0))
        for number in [
            *point.samples_us,
            point.median_us or 0,
            point.ratio or 0,
            point.gpu_seconds,
        ]:
            files.finite(path, number)
    names = {tuple(point.values) for point in points.values()}
    families = {point.family for point in points.values()}
    if len(names) > len(families):
        raise files.bad(path, "points of one family have different parameters")
    return Space(body["name"], body["task"], body["workload"],
                 [points[index] for index in sorted(points)])  # fmt: skip


def _candidate(path: Path, line: dict[str, Any], sources: dict[str, str]) -> dict[str, Any]:
    """A candidate's body whose sources are all there."""
    body = files.mapping(path, line["body"])
    for name, digest in files.mapping(path, body["sources"]).items():
        if digest not in sources:
            raise files.bad(path, f"has no text of the source {name}")
    files.text_in(path, body, "entry")
    if body["entry"] not in body["sources"]:
        raise files.bad(path, "a candidate's entry is none of its sources")
    return body


def read(path: str | Path, with_sources: bool = False) -> Recording:
    """Screened verdicts of every space, in the order of its points; perhaps with their sources."""
    path = Path(path)
    skip = [b'{"memo"', b'{"protocol"']
    skip += [] if with_sources else [b'{"source"', b'{"candidate"']
    sources: dict[str, str] = {}
    candidates: dict[tuple[int, int], dict[str, Any]] = {}
    header: dict[str, Any] = {}
    spaces: list[tuple[dict[str, Any], dict[int, Point]]] = []
    verdicts = 0
    text = _decompressed(path)
    if len(text) > MOST_BYTES:
        raise files.bad(path, f"holds more than {MOST_BYTES >> 30} GiB")
    try:
        for line in _lines(path, text, tuple(skip)):
            if not header:
                if line.get("warpsmith_recording") not in (1, 2):
                    raise files.bad(path, "is no recording of version 1 or 2")
                header = line
            elif next(iter(line)) == "space":
                spaces.append((line, {}))
            elif next(iter(line)) == "source":
                sources[line["source"]] = files.text_in(path, line, "text")
            elif next(iter(line)) == "candidate":
                space, index = line["candidate"]
                candidates[space, index] = _candidate(path, line, sources)
            elif "verdict" in line:
                space, index = line["at"]
                body, points = spaces[space]
                family, values = body["points"][index]
                points.setdefault(index, _point(family, values, line))
                verdicts += 1
        if header and verdicts != header["counts"]["verdicts"]:
            raise files.bad(path, f"is cut off: it has {verdicts} verdicts of those it counts")
        for (at, index), candidate in candidates.items():
            points = spaces[at][1]
            if index in points:
                points[index] = replace(points[index], candidate=candidate)
        whole = [_space(path, body, points) for body, points in spaces]
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise files.bad(path, f"is no whole recording ({type(error).__name__}: {error})") from None
    if not header:
        raise files.bad(path, "is empty")
    return Recording(header, whole, sources)
