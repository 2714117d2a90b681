"""Reading what strangers wrote, and writing whole files only."""

from __future__ import annotations

import json
import keyword
import math
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpsmith._program import BadInput

MOST_BYTES = 1 << 28
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def bad(where: object, what: str, fix: str = "") -> BadInput:
    """One line, whatever a file's own words are."""
    line = re.sub(r"[^\x20-\x7e]", "?", f"{where}: {what}")
    return BadInput("bad-input", line[:500], fix)


def read_bytes(path: str | os.PathLike[str], fix: str = "") -> bytes:
    file = Path(path)
    try:
        if not file.is_file():
            raise BadInput("no-input", f"{file} is no file", fix)
        if file.stat().st_size > MOST_BYTES:
            raise bad(file, f"has more than {MOST_BYTES >> 20} MiB")
        return file.read_bytes()
    except OSError as error:
        raise BadInput("no-input", f"{file}: {error.strerror}") from None


def read_text(path: str | os.PathLike[str]) -> str:
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise bad(path, f"is not UTF-8 ({error.reason} at byte {error.start})") from None


def _no_number(word: str) -> None:
    raise ValueError(word)


def parse_json(where: object, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise bad(where, f"is no JSON: {error.msg} in line {error.lineno}") from None
    except (RecursionError, ValueError):
        raise bad(where, "is no JSON that can be read: nested too deeply, or no number") from None


def read_json(path: str | os.PathLike[str]) -> Any:
    return parse_json(path, read_text(path))


def need(where: object, value: Any, kind: type | tuple[type, ...], words: str) -> Any:
    """`value`, or a refusal that says what was expected. A bool is no number."""
    is_kind = isinstance(value, kind) and not (isinstance(value, bool) and kind is not bool)
    if not is_kind:
        raise bad(where, f"expected {words}, found {type(value).__name__}")
    return value


def mapping(where: object, value: Any) -> dict[str, Any]:
    found: dict[str, Any] = need(where, value, dict, "an object")
    return found


def text_in(where: object, value: Mapping[str, Any], field: str) -> str:
    found: str = need(f"{where}: {field}", value.get(field), str, "a text")
    if not found:
        raise bad(f"{where}: {field}", "is empty")
    return found


def whole_in(where: object, value: Any, low: int = 0, high: int = 1 << 40) -> int:
    number: int = need(where, value, int, "a whole number")
    if not low <= number <= high:
        raise bad(where, f"expected a whole number from {low} to {high}")
    return number


def finite(where: object, value: Any) -> float:
    number = need(where, value, (int, float), "a number")
    try:
        if math.isfinite(number):
            return float(number)
    except OverflowError:
        pass
    raise bad(where, "expected a finite number")


def identifier(where: object, name: str) -> str:
    """A name that C++, Python and our expressions take."""
    if not _IDENTIFIER.fullmatch(name):
        raise bad(where, f"'{name}' is no identifier of at most 64 letters, digits and _")
    return name


_CPP = frozenset(
    "auto bool case char class const default delete do double enum explicit extern float friend "
    "goto inline int long mutable namespace new operator private protected public register short "
    "signed sizeof static struct switch template this throw typedef union unsigned using virtual "
    "void volatile".split()
)


def argument_name(where: object, name: str) -> str:
    """An identifier that is no word of Python or C++, so that it can name a parameter of both."""
    identifier(where, name)
    if keyword.iskeyword(name) or name in _CPP or name == "torch":
        raise bad(where, f"'{name}' is a word of Python or C++")
    return name


def file_name(text: str) -> str:
    """A name that cannot leave its folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", text).lstrip(".-")[:100]
    return name or "unnamed"


def _temporary_beside(path: Path) -> Path:
    if not path.parent.is_dir():
        raise BadInput("no-input", f"there is no folder {path.parent}")
    return path.parent / f".{path.name}.{os.getpid()}.part"


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Whole, over what is there."""
    target = Path(path).absolute()
    part = _temporary_beside(target)
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def write_folder(path: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> None:
    """A new folder with these files, whole; refused where something is there."""
    target = Path(path).absolute()
    if target.exists():
        raise BadInput("config", f"{target} is there already", "name a new folder")
    if not target.parent.is_dir():
        raise BadInput("no-input", f"there is no folder {target.parent}")
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        part.chmod(0o755)
        for name, content in files.items():
            file = part / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        os.rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def dump(document: Any) -> str:
    """JSON without NaN and infinities, which it lacks."""
    try:
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    except ValueError:
        raise BadInput("bad-input", "a number that is not finite cannot be written") from None
