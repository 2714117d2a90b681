"""Holds data/README.md to the files beside it.

    data.py ROOT

Every file of the checkout (checkout.py) under ROOT/data, but the README itself, must match exactly
one row of the README's table, and every row must match a file and have no empty cell. A row's first cell is a path pattern in backticks, relative to data/, in which * stands for
any part of a name within one folder. The exit status is 1, with a line for each fault, otherwise.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from checkout import files_of

COLUMNS = 5  # file, what it holds, how it was made, device, date
ROW = re.compile(r"^\| `(?P<pattern>[^`]+)` \|(?P<rest>.*)\|$")


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
    root = Path(arguments[0])
    names = [name.removeprefix("data/") for name in files_of(root) if name.startswith("data/")]
    names.remove("README.md")
    faults = faults_of((root / "data/README.md").read_text(encoding="utf-8"), names)
    for fault in faults:
        print(f"data/README.md: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
