"""Candidates judged by the program: is a kernel right, and how fast is it, beside what."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from warpsmith._program import Error, error_from, program

Outcome = Literal[
    "passed", "compile-failed", "rejected", "run-failed", "timed-out", "incorrect", "inconclusive"
]
# CUDA source text, the path of a .cu or of a candidate's folder, or a candidate as JSON has it.
Candidate = str | Path | Mapping[str, Any]


@dataclass(frozen=True)
class Interval:
    """Of 99 %."""

    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """ratio = the baseline's time over the candidate's: above 1 the candidate is faster."""

    baseline: str
    ratio: float
    interval: Interval
    finding: str  # faster, slower, same, not-shown


@dataclass(frozen=True)
class ModeTiming:
    """Times of one mode, in microseconds of a call."""

    workload: str
    mode: str
    median_us: float
    interval_us: Interval
    samples_us: tuple[float, ...]
    floor_us: float  # no kernel can be faster
    below_floor: bool
    baselines_us: Mapping[str, float]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class Verdict:
    """The judge's answer. Times exist only where it passed."""

    outcome: Outcome
    reason: str  # one line; empty where it passed
    level: str  # screened, certified; empty where it did not pass
    modes: tuple[ModeTiming, ...]
    degenerate: str  # the answer that would pass for any input, where the task is that loose
    candidate_id: str
    key: str
    evidence: Mapping[str, Any]  # device, driver, toolchain, date, ...
    document: Mapping[str, Any]  # all of it, as the program wrote it

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def comparison(self) -> Comparison | None:
        """With the primary baseline, in the first mode that has it."""
        return next((mode.comparisons[0] for mode in self.modes if mode.comparisons), None)

    @property
    def ratio(self) -> float | None:
        return self.comparison.ratio if self.comparison else None


def _number(value: Any) -> float:
    return float(value)  # "nan", "inf" and "-inf" are texts in our JSON


def _interval(value: Any) -> Interval:
    low, high = value
    return Interval(_number(low), _number(high))


def _mode(workload: str, body: Mapping[str, Any]) -> ModeTiming:
    candidate = body["candidate"]
    timing = ModeTiming(
        workload,
        body["mode"],
        _number(candidate.get("median_us", 0)),
        _interval(candidate.get("interval_us", (0, 0))),
        tuple(_number(one) for one in candidate.get("samples", {}).get("us", [])),
        _number(body.get("floor_us", 0)),
        body.get("below_floor", False),
        {one["name"]: _number(one.get("median_us", 0)) for one in body.get("baselines", [])},
        tuple(
            Comparison(
                one["baseline"], _number(one["ratio"]), _interval(one["interval"]), one["finding"]
            )
            for one in body.get("comparisons", [])
        ),
    )
    if any(one.baseline not in timing.baselines_us for one in timing.comparisons):
        raise ValueError("a comparison is with a baseline that has no times")
    return timing


def _reason(body: Mapping[str, Any]) -> str:
    words = [body.get(field) for field in ("rule", "detector", "call", "code", "step")]
    words += [body.get("detail") or body.get("reason") or body.get("log")]
    return ": ".join(str(word) for word in words if word).split("\n")[0]


def verdict_from(row: Mapping[str, Any]) -> Verdict:
    """A verdict of a document that `warpsmith evaluate --json` printed (one of its `verdicts`).

    LookupError, TypeError, ValueError or AttributeError where it is none.
    """
    body = row["verdict"]
    if body["outcome"] not in get_args(Outcome):
        raise ValueError(f"the outcome {body['outcome']!r} is not known")
    if not all(isinstance(value, str) for value in body.get("evidence", {}).values()
               if not isinstance(value, (list, float, int))):  # fmt: skip
        raise TypeError("evidence is no text")
    passed = body["outcome"] == "passed"
    return Verdict(
        body["outcome"],
        "" if passed else _reason(body),
        body.get("level", ""),
        tuple(_mode(timing["workload"], mode)
              for timing in body.get("timings", []) for mode in timing["modes"]),
        body.get("correctness", {}).get("degenerate", ""),
        row.get("id", ""),
        row.get("key", ""),
        body.get("evidence", {}),
        body,
    )  # fmt: skip


def candidate_document(source: str, plan: Mapping[str, Any] | None = None,
                       flags: Iterable[str] = ()) -> dict[str, Any]:  # fmt: skip
    """A candidate of one source: a kernel with its launch plan, or a program without one."""
    document: dict[str, Any] = {
        "version": 1, "entry": "kernel.cu", "sources": {"kernel.cu": source}, "flags": list(flags),
        "toolchain": "nvrtc", "plan": {"version": 1, "operations": []},
    }  # fmt: skip
    if plan is None:
        return {**document, "form": "program", "toolchain": "nvcc"}
    return {**document, "plan": dict(plan)}


class Session:
    """One process that judges one task's candidates one after another; close it, or use `with`.

    Thread safe: calls take turns. On a GPU the process holds it until close(), except between
    verdicts where `wait` is above 0.
    """

    def __init__(
        self,
        task: str | os.PathLike[str],
        *,
        workload: str = "",
        certified: bool = False,
        device: str | os.PathLike[str] = "auto",
        gpu: str = "",
        store: str | os.PathLike[str] = "",
        wait: int = 0,
        unsandboxed: bool = False,
    ):
        argv = [program(), "evaluate", os.fspath(task), "--stream", "--json", "--quiet"]
        argv += ["--device", os.fspath(device)]
        options = {"--workload": workload, "--gpu": gpu, "--store": os.fspath(store)}
        for name, value in options.items():
            argv += [name, value] if value else []
        argv += ["--wait", str(wait)] if wait else []
        argv += ["--certified"] if certified else []
        argv += ["--unsandboxed"] if unsandboxed else []
        self._folder = tempfile.TemporaryDirectory(prefix="warpsmith-")
        self._lock = threading.Lock()
        self._count = 0
        self._log = open(Path(self._folder.name) / "stderr", "w+b")
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )

    def evaluate(self, candidate: Candidate, plan: Mapping[str, Any] | None = None) -> Verdict:
        """Judges one candidate; with a launch plan, `candidate` is a kernel's source text.

        Raises Error where it could not be judged; a bad candidate is a Verdict.
        """
        if plan is not None:
            if not isinstance(candidate, str):
                raise TypeError("a plan goes with CUDA source text")
            candidate = candidate_document(candidate, plan)
        with self._lock:
            return self._ask([candidate])[0]

    def evaluate_many(self, candidates: Iterable[Candidate]) -> list[Verdict | Error]:
        """Compiles ahead, and judges in order. An Error stands where one could not be judged."""
        wanted = list(candidates)
        if not wanted:
            return []
        with self._lock:
            try:
                return list(self._ask(wanted))
            except Error:
                # One by one: what was judged is in the store and costs nothing.
                return [self._ask_or_error(one) for one in wanted]

    def close(self) -> None:
        with self._lock:
            if self._process.stdin and not self._process.stdin.closed:
                try:
                    self._process.stdin.close()
                except BrokenPipeError:
                    pass
            try:
                self._process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()
            self._log.close()
            self._folder.cleanup()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask_or_error(self, candidate: Candidate) -> Verdict | Error:
        try:
            return self._ask([candidate])[0]
        except Error as error:
            return error

    def _path(self, candidate: Candidate) -> str:
        if isinstance(candidate, Path):
            return str(candidate.absolute())
        self._count += 1
        folder = Path(self._folder.name) / str(self._count)
        folder.mkdir()
        if isinstance(candidate, str):
            candidate = candidate_document(candidate)
        (folder / "candidate.json").write_text(json.dumps(candidate), encoding="utf-8")
        return str(folder)

    def _ask(self, candidates: list[Candidate]) -> list[Verdict]:
        process = self._process
        if process.stdin is None or process.stdout is None or process.stdin.closed:
            raise Error("usage", "the session is closed", "make a new one")
        line = json.dumps([self._path(one) for one in candidates]) + "\n"
        try:
            process.stdin.write(line.encode())
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it said why before it went
        answer = process.stdout.readline()
        if not answer.endswith(b"\n"):
            raise self._died()
        document = json.loads(answer)
        if "error" in document:
            raise error_from(document)
        return [verdict_from(row) for row in document["verdicts"]]

    def _died(self) -> Error:
        status = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        last = re.sub(r"[^\x20-\x7e]", "?", lines[-1]) if lines else "it said nothing"
        return Error("internal", f"warpsmith ended with exit status {status}: {last}")


def evaluate(task: str | os.PathLike[str], candidate: Candidate,
             plan: Mapping[str, Any] | None = None, **options: Any) -> Verdict:  # fmt: skip
    """Judges one candidate in a process of its own; `options` are Session's."""
    with Session(task, **options) as session:
        return session.evaluate(candidate, plan)
