"""The program `warpsmith`: where it is, and what it refuses with."""

from __future__ import annotations

import functools
import os
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Error(RuntimeError):
    """A refusal of the program: code (`warpsmith exit-codes`), exit status, words and advice."""

    def __init__(self, code: str, message: str, fix: str = ""):
        super().__init__(f"{message} ({fix})" if fix else message)
        self.code = code
        self.message = message
        self.fix = fix
        self.exit_status = EXIT_STATUSES.get(code, 70)


class NeedsGpu(Error):
    """No GPU, no driver, or a library of CUDA's is missing."""


class NotRecorded(Error):
    """A replay was asked for what was never measured."""


class BadInput(Error):
    """A task, a candidate or a file is malformed, of another version, or not there."""


class Busy(Error):
    """Another process holds the device or the store."""


class NeedsProgram(BadInput):
    """The program itself is not installed."""


# A test holds this table to `warpsmith exit-codes`.
EXIT_STATUSES = {
    "ok": 0, "answer-is-no": 1, "usage": 2, "bad-input": 65, "no-input": 66, "unknown-device": 68,
    "unavailable": 69, "internal": 70, "nothing-measured": 72, "not-recorded": 73, "io": 74,
    "busy": 75, "version": 76, "permission": 77, "config": 78, "awaiting": 79, "timeout": 124,
    "interrupted": 130,
}  # fmt: skip

_KINDS: dict[str, type[Error]] = {
    "unavailable": NeedsGpu, "not-recorded": NotRecorded, "bad-input": BadInput,
    "no-input": BadInput, "version": BadInput, "busy": Busy,
}  # fmt: skip


def error_from(document: Mapping[str, Any]) -> Error:
    """The exception of a document {"schema": "warpsmith.error", ...}."""
    error = document["error"]
    kind = _KINDS.get(error["code"], Error)
    return kind(error["code"], error["message"], error.get("fix", ""))


@functools.cache
def program() -> str:
    """Path of the program: $WARPSMITH_PROGRAM, what this wheel installed or this checkout built, or
    the one in PATH."""
    named = os.environ.get("WARPSMITH_PROGRAM")
    beside = [Path(sysconfig.get_path("scripts"))]
    beside.append(Path(sysconfig.get_path("scripts", "posix_user")))  # pip install --user
    beside.append(Path(__file__).parent.parent / "bin")  # pip install --target
    beside.append(Path(__file__).parents[2] / "build/release/bin")
    candidates = [named] if named else [str(folder / "warpsmith") for folder in beside]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return candidate
    found = None if named else shutil.which("warpsmith")
    if found is None:
        raise NeedsProgram(
            "no-input",
            f"the program warpsmith is not at {', '.join(candidates)}, and not in PATH",
            "install the wheel that carries it, or name it in WARPSMITH_PROGRAM",
        )
    return found
