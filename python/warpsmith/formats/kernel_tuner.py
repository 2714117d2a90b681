"""Kernel Tuner's files: T4 results (odgaard/TuningSchema 1.0.0) and cache files (simulation mode).

Out: a recorded space as one pair of files a family, because a file's configurations share their
parameters. In: a table. A recording cannot hold what others measured: it needs every kernel's
source and the judge's verdict on it, and these files have neither.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.formats import files
from warpsmith.formats.recording import Point, Recording, Space

SCHEMA_VERSION = "1.0.0"
# Of our outcomes; what is inconclusive says nothing of a configuration and is left out.
_INVALIDITY = {
    "passed": "correct", "compile-failed": "compile", "run-failed": "runtime",
    "timed-out": "timeout", "incorrect": "correctness", "rejected": "constraints",
}  # fmt: skip
_ERRORS = {"compile": "CompilationFailedConfig", "runtime": "RuntimeFailedConfig"}
_VALIDITIES = ("timeout", "compile", "runtime", "correctness", "constraints", "correct")


def _known(points: list[Point]) -> list[Point]:
    return [point for point in points if point.body["outcome"] in _INVALIDITY]


def _compile_ms(point: Point) -> float:
    return float(point.body.get("evidence", {}).get("compile_ms", 0))


def _result(point: Point) -> dict[str, Any]:
    evidence = point.body.get("evidence", {})
    runtimes = [us / 1000 for us in point.samples_us]
    validity = _INVALIDITY[point.body["outcome"]]
    # The schema's names, and those that Kernel Tuner itself writes.
    times = {
        "compilation_time": _compile_ms(point), "compilation": _compile_ms(point),
        "benchmark": point.gpu_seconds * 1000, "framework": 0, "search_algorithm": 0,
        "validation": 0, "runtimes": runtimes,
    }  # fmt: skip
    measurements = []
    if point.median_us is not None:
        measurements.append({"name": "time", "value": point.median_us / 1000, "unit": "ms"})
    if point.ratio is not None:
        measurements.append({"name": f"speedup_over_{point.bar}", "value": point.ratio, "unit": ""})
    return {
        "timestamp": evidence.get("date", ""), "configuration": dict(point.values), "times": times,
        "invalidity": validity, "correctness": 1 if validity == "correct" else 0,
        "measurements": measurements, "objectives": ["time"],
    }  # fmt: skip


def _cached(point: Point) -> dict[str, Any]:
    validity = _INVALIDITY[point.body["outcome"]]
    time: float | str = _ERRORS.get(validity, "InvalidConfig")
    if point.median_us is not None:
        time = point.median_us / 1000
    return {
        **point.values, "time": time, "times": [us / 1000 for us in point.samples_us],
        "compile_time": _compile_ms(point), "verification_time": 0,
        "benchmark_time": point.gpu_seconds * 1000, "framework_time": 0, "strategy_time": 0,
        "timestamp": point.body.get("evidence", {}).get("date", ""),
    }  # fmt: skip


def _families(space: Space) -> dict[str, list[Point]]:
    families: dict[str, list[Point]] = {}
    for point in _known(space.points):
        families.setdefault(point.family, []).append(point)
    return families


def t4(space: Space, family: str, header: Mapping[str, Any]) -> dict[str, Any]:
    """T4 results of one family. Times in milliseconds, as Kernel Tuner writes them."""
    device = dict(header.get("device", {}))
    return {
        "schema_version": SCHEMA_VERSION,
        "results": [_result(point) for point in _families(space)[family]],
        "metadata": {
            "timeunit": "milliseconds",
            "hardware": {"hardware_description": [device]},
            "environment": {"device_query": device, "requirements": []},
            "warpsmith": {
                "space": space.name, "family": family, "task": space.task["name"],
                "sizes": space.workload["sizes"], "command": header.get("command", ""),
                "date": header.get("date", ""), "toolchain": header.get("toolchain", ""),
            },
        },
    }  # fmt: skip


def cache(space: Space, family: str, header: Mapping[str, Any]) -> dict[str, Any]:
    """A cache file, which kernel_tuner.tune_kernel(simulation_mode=True) replays."""
    points = _families(space)[family]
    names = list(points[0].values)
    sizes = space.workload["sizes"]
    return {
        "device_name": header.get("device", {}).get("name", ""),
        "kernel_name": f"{space.name}-{family}",
        "problem_size": list(sizes.values()),
        "tune_params_keys": names,
        "tune_params": {name: sorted({point.values[name] for point in points}) for name in names},
        "objective": "time",
        "cache": {
            ",".join(str(point.values[name]) for name in names): _cached(point) for point in points
        },
    }


def export(recording: Recording, folder: str | Path) -> list[str]:
    """Writes SPACE-FAMILY.t4.json and SPACE-FAMILY.cache.json into a new folder; their names."""
    written: dict[str, str] = {}
    for space in recording.spaces:
        for family in _families(space):
            name = files.file_name(f"{space.name}-{family}")
            written[f"{name}.t4.json"] = files.dump(t4(space, family, recording.header))
            written[f"{name}.cache.json"] = files.dump(cache(space, family, recording.header))
    if not written:
        raise files.bad(folder, "no verdict of the recording says anything")
    files.write_folder(folder, written)
    return sorted(written)


@dataclass(frozen=True)
class Row:
    configuration: dict[str, Any]
    validity: str  # one of T4's
    time_ms: float | None


def _value(where: str, value: Any) -> Any:
    if isinstance(value, dict):
        raise files.bad(where, "a parameter's value is an object")
    return value


def _t4_time(where: str, result: Mapping[str, Any], unit_ms: float) -> float | None:
    for measurement in files.need(where, result.get("measurements", []), list, "a list"):
        one = files.mapping(where, measurement)
        if one.get("name") in ("time", "GPU_time", "runtime") and one.get("value") not in (
            None,
            "",
        ):
            units = {"ms": 1.0, "us": 1e-3, "s": 1e3, "ns": 1e-6, "": unit_ms}
            unit = str(one.get("unit") or "")
            if unit not in units:
                raise files.bad(where, f"time has the unknown unit '{unit}'")
            value = one["value"]
            return files.finite(where, value) * units[unit] if not isinstance(value, str) else None
    runtimes = result.get("times", {}).get("runtimes") or []
    numbers = sorted(
        files.finite(where, one) for one in files.need(where, runtimes, list, "a list")
    )
    return numbers[len(numbers) // 2] * unit_ms if numbers else None


def _t4_rows(path: object, document: Mapping[str, Any]) -> list[Row]:
    version = str(document.get("schema_version", ""))
    if version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise files.bad(path, f"has T4's version '{version}', {SCHEMA_VERSION} is read")
    metadata = document.get("metadata")
    unit = (
        metadata.get("timeunit", "milliseconds") if isinstance(metadata, dict) else "milliseconds"
    )
    units = {"milliseconds": 1.0, "microseconds": 1e-3, "seconds": 1e3, "nanoseconds": 1e-6}
    if unit not in units:
        raise files.bad(path, f"metadata.timeunit is '{unit}'")
    rows = []
    for index, entry in enumerate(
        files.need(f"{path}: results", document["results"], list, "a list")
    ):
        where = f"{path}: results[{index}]"
        result = files.mapping(where, entry)
        files.mapping(f"{where}.times", result.get("times"))
        validity = result.get("invalidity")
        if validity not in _VALIDITIES:
            raise files.bad(where, f"invalidity is {validity!r}, none of {', '.join(_VALIDITIES)}")
        configuration = files.mapping(f"{where}.configuration", result.get("configuration"))
        time = _t4_time(where, result, units[unit]) if validity == "correct" else None
        rows.append(Row({k: _value(where, v) for k, v in configuration.items()}, validity, time))
    return rows


def _cache_rows(path: object, document: Mapping[str, Any]) -> list[Row]:
    names = files.need(
        f"{path}: tune_params_keys", document.get("tune_params_keys"), list, "a list"
    )
    errors = {"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime"}
    rows = []
    for key, entry in files.mapping(f"{path}: cache", document["cache"]).items():
        where = f"{path}: cache['{key}']"
        result = files.mapping(where, entry)
        if not all(isinstance(name, str) and name in result for name in names):
            raise files.bad(where, "lacks one of tune_params_keys")
        time = result.get("time")
        validity = errors.get(time, "constraints") if isinstance(time, str) else "correct"
        rows.append(Row({name: _value(where, result[name]) for name in names}, validity,
                        None if isinstance(time, str) else files.finite(where, time)))  # fmt: skip
    return rows


def read(path: str | Path) -> list[Row]:
    """The configurations of a T4 results file or of a cache file, in the file's order.

    A cache file that was left open (its run was interrupted) is closed in memory.
    """
    text = files.read_text(path)
    if text.rstrip().endswith(","):  # Kernel Tuner appends, and closes the braces last
        text = text.rstrip()[:-1] + "}\n}"
    document = files.mapping(path, files.parse_json(path, text))
    if "results" in document:
        rows = _t4_rows(path, document)
    elif "cache" in document:
        rows = _cache_rows(path, document)
    else:
        raise files.bad(path, "is neither T4 results nor a cache file of Kernel Tuner")
    if not any(row.time_ms is not None for row in rows):
        raise files.bad(path, f"none of its {len(rows)} configurations has a time")
    return rows


def table(rows: list[Row]) -> str:
    """As CSV: a column for each parameter, then validity and time_us."""
    names = list(dict.fromkeys(name for row in rows for name in row.configuration))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "validity", "time_us"])
    for row in rows:
        time = "" if row.time_ms is None else f"{row.time_ms * 1000:.6g}"
        values = [row.configuration.get(name, "") for name in names]
        writer.writerow([*values, row.validity, time])
    return text.getvalue()
