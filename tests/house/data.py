"""Holds data/README.md to the files beside it.

    data.py ROOT

Every tracked file under ROOT/data (every file there, where there is no git), but the README itself,
must match exactly one row of the README's table, and every row must match a file and have no empty
cell. A row's first cell is a path pattern in backticks, relative to data/, in which * stands for
any part of a name within one folder. The exit status is 1, with a line for each fault, otherwise.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

COLUMNS = 5  # file, what it holds, how it was made, device, date
ROW = re.compile(r"^\| `(?P<pattern>[^`]+)` \|(?P<rest>.*)\|$")


def tracked_files(data: Path) -> list[str]:
    """Paths of the files under `data`, relative to it."""
    listed = subprocess.run(["git", "-C", data, "ls-files", "-z"], capture_output=True, text=True)
    names = [name for name in listed.stdout.split("\0") if name] if listed.returncode == 0 else []
    if not names:
        names = [str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()]
    return sorted(name for name in names if name != "README.md" and (data / name).exists())


def is_match(pattern: str, name: str) -> bool:
    """Whether the pattern describes the whole path; * crosses no folder."""
    parts = [re.escape(part) for part in pattern.split("*")]
    return re.fullmatch("[^/]*".join(parts), name) is not None


def faults_of(readme: str, names: list[str]) -> list[str]:
    """What is wrong, one line each; empty where the table describes the files."""
    faults = []
    rows = [row for line in readme.splitlines() if (row := ROW.match(line))]
    for row in rows:
        cells = [cell.strip() for cell in row["rest"].split("|")]
        if len(cells) != COLUMNS - 1 or not all(cells):
            faults.append(f"{row['pattern']}: the row needs {COLUMNS} cells with text")
        if not any(is_match(row["pattern"], name) for name in names):
            faults.append(f"{row['pattern']}: no file matches this row")
    for name in names:
        matches = [row["pattern"] for row in rows if is_match(row["pattern"], name)]
        if len(matches) != 1:
            faults.append(f"{name}: matches {len(matches)} rows, expected 1: {', '.join(matches)}")
    return faults


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 64
    data = Path(arguments[0]) / "data"
    faults = faults_of((data / "README.md").read_text(encoding="utf-8"), tracked_files(data))
    for fault in faults:
        print(f"data/README.md: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
