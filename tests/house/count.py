"""Counts what a stranger would count of a checkout, and holds it to limits.

    count.py ROOT             prints figure | now | limit | goal
    count.py --ratchet ROOT   also writes today's figures as limits, where they are better

The exit status is 1 when a figure is beyond its limit; each such figure has a line that says so.

The limits are in ROOT/tests/house/limits.json, {"figure": {"limit": ..., "goal": ...}}; "most" is
an upper bound for a figure that has to grow to its goal. To lower a limit, make something smaller,
run --ratchet, and commit the limits with it. A limit that --ratchet writes leaves half a per cent
of room for work that has to add something; it never moves away from the goal. A change that has to
go the other way edits the file by hand and says why in the commit.

What is counted, of the files of the checkout (checkout.py):

  code      files that end in .c .cc .cpp .h .cu .cuh .py .sh .js .css .html .sql or .cmake,
            CMakeLists.txt, and files without an ending that start with #!
  product   code in src, tools, bench, python, include, cmake and in no folder, without tests:
            *_test.cc, test_*.py and what lies in a folder `tests`. Fakes count as product.
  all       product, those tests, tests and examples. tasks and data are material, not code.
  types     definitions of a named struct, class, enum or union in .h files of the product, by
            thousand lines of product
  comments  the share of lines that hold nothing but a comment or a Python docstring, of the
            product's C++, CUDA, Python, shell and CMake
  docs      words of *.md: in docs, in python and in no folder, without CHANGELOG.md

Lines are all lines, blank ones too. An MB is a million bytes.
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
import statistics
import sys
import tokenize
from pathlib import Path

from checkout import files_of

LIMITS = "tests/house/limits.json"
ROOM = 0.005  # of a figure, between it and the limit that --ratchet writes

C_ENDINGS = {".c", ".cc", ".cpp", ".h", ".cu", ".cuh"}
OTHER_ENDINGS = {".py", ".sh", ".js", ".css", ".html", ".sql", ".cmake"}
PRODUCT_FOLDERS = {"src", "tools", "bench", "python", "include", "cmake", ""}
ALL_FOLDERS = PRODUCT_FOLDERS | {"tests", "examples"}
DOCS_FOLDERS = {"docs", "python", ""}

# Figures that ought to grow; all others ought to shrink.
GROWING = {"median lines of a product file", "comment-only lines, %"}

# Strings come first, so that a // in one starts no comment. The digits before a ' are those of a
# number with separators.
C_TOKEN = re.compile(
    r"""R"(?P<mark>\w*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
    | (?P<comment>//[^\n]*|/\*.*?\*/)""",
    re.DOTALL | re.VERBOSE,
)
COMMENT = "\x01"  # stands for a comment, or for a comment's part on one line
TYPE = re.compile(
    r"^\s*(?:typedef\s+|template\s*<[^;{]*>\s*)?(?:enum\s+(?:class|struct)|struct|class|enum|union)"
    r"\s+(?:\[\[[^]]*\]\]\s*|alignas\([^)]*\)\s*)*[A-Za-z_][\w:]*(?:<[^;{]*>)?(?:\s+final)?"
    r"\s*(?::[^;{]*)?\{",
    re.MULTILINE,
)


def top_folder(file: str) -> str:
    return file.partition("/")[0] if "/" in file else ""


def is_test(file: str) -> bool:
    *folders, name = file.split("/")
    named_as_test = name.endswith("_test.cc") or (name.startswith("test_") and name.endswith(".py"))
    return named_as_test or "tests" in folders


def code_of(root: Path, file: str) -> str | None:
    """The text of a file of code, and None for any other."""
    path = root / file
    ending = path.suffix
    if ending not in C_ENDINGS | OTHER_ENDINGS and path.name != "CMakeLists.txt":
        if ending or path.name.startswith("."):
            return None
        with path.open("rb") as stream:
            if stream.read(2) != b"#!":
                return None
    return path.read_text(errors="replace")


def count_lines(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def bare_c(text: str) -> str:
    """C or C++ with empty strings and with COMMENT for comments. Lines keep their number."""

    def replace(match: re.Match) -> str:
        if match["comment"]:
            return re.sub(r"[^\n]+", COMMENT, match[0])
        return '""' + "\n" * match[0].count("\n")

    return C_TOKEN.sub(replace, text)


def count_python_comments(text: str) -> int:
    """Lines of # and of docstrings: strings that are a statement of their own."""
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip() == token.line[token.start[1] :]:
            comments.add(token.start[0])
    if text.startswith("#!"):
        comments.discard(1)
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                numbers = range(node.lineno, node.end_lineno + 1)
                comments.update(number for number in numbers if lines[number - 1].strip())
    return len(comments)


def count_hash_comments(text: str) -> int:
    lines = (line.lstrip() for line in text.split("\n"))
    return sum(line.startswith("#") and not line.startswith("#!") for line in lines)


class Tally:
    """The sums over the files of one checkout, which `figures` turns into the table's numbers."""

    def __init__(self, root: Path):
        self.root = root
        self.product_files: list[int] = []  # lines of each
        self.all_lines = self.types = 0
        self.comments = self.commented_lines = 0  # comment-only lines, and of how many lines
        self.docs_words = self.readme_words = self.data_bytes = 0
        self.source_folders: set[str] = set()
        for file in files_of(root):
            self.add(file)

    def add(self, file: str) -> None:
        top = top_folder(file)
        if top == "src" and file.count("/") > 1:
            self.source_folders.add(file.split("/")[1])
        if top == "data":
            self.data_bytes += (self.root / file).stat().st_size
        elif file.endswith(".md") and top in DOCS_FOLDERS and file != "CHANGELOG.md":
            words = len((self.root / file).read_text(errors="replace").split())
            self.docs_words += words
            self.readme_words += words if file == "README.md" else 0
        elif top in ALL_FOLDERS and (text := code_of(self.root, file)) is not None:
            self.all_lines += count_lines(text)
            if top in PRODUCT_FOLDERS and not is_test(file):
                self.add_product(file, text)

    def add_product(self, file: str, text: str) -> None:
        lines = count_lines(text)
        self.product_files.append(lines)
        ending = Path(file).suffix
        if ending in C_ENDINGS:
            bare = bare_c(text)
            bare_lines = (line.strip() for line in bare.split("\n"))
            self.comments += sum(set(line.replace(" ", "")) == {COMMENT} for line in bare_lines)
            if ending == ".h":
                self.types += len(TYPE.findall(bare.replace(COMMENT, "")))
        elif ending == ".py" or text.startswith("#!/usr/bin/env python"):
            self.comments += count_python_comments(text)
        elif ending in ("", ".sh", ".cmake", ".txt"):
            self.comments += count_hash_comments(text)
        else:
            return
        self.commented_lines += lines

    def figures(self) -> dict[str, int | float]:
        product = sum(self.product_files)
        return {
            "folders in src": len(self.source_folders),
            "product lines": product,
            "all lines": self.all_lines,
            "header types per 1000 product lines": round(1000 * self.types / max(product, 1), 2),
            "median lines of a product file": int(statistics.median(self.product_files or [0])),
            "comment-only lines, %": round(100 * self.comments / max(self.commented_lines, 1), 2),
            "words of docs": self.docs_words,
            "words of README": self.readme_words,
            "data, MB": round(self.data_bytes / 1e6, 2),
        }


def breach(figure: str, now: float, entry: dict[str, float]) -> str | None:
    """One line that says how a figure is beyond its limit; None where it is not."""
    if "limit" not in entry:
        return f"{figure}: has no limit in {LIMITS}; count.py --ratchet writes one"
    limit, most = entry["limit"], entry.get("most", math.inf)
    if figure in GROWING and now < limit:
        return f"{figure}: {now:,} is under its limit of {limit:,} ({LIMITS}); bring it back up"
    if figure not in GROWING and now > limit:
        return f"{figure}: {now:,} is over its limit of {limit:,} ({LIMITS}); bring it back down"
    if now > most:
        return f"{figure}: {now:,} is over {most:,}, the most it may be ({LIMITS}); bring it down"
    return None


def ratcheted(figure: str, now: float, limit: float | None) -> float:
    """The limit that follows from today's figure, or the one there is, whichever is stricter."""
    growing = figure in GROWING
    scale = 1 if isinstance(now, int) else 100  # figures that are no integer have two decimals
    units = round(now * scale)
    units += int(units * ROOM) * (-1 if growing else 1)
    new = units if scale == 1 else units / scale
    if limit is None:
        return new
    return max(limit, new) if growing else min(limit, new)


def print_table(figures: dict[str, int | float], limits: dict[str, dict[str, float]]) -> None:
    rows = [("figure", "now", "limit", "goal")]
    for figure, now in figures.items():
        entry = limits.get(figure, {})
        goal = f"{entry['goal']:,}" if "goal" in entry else "-"
        if "most" in entry:
            goal += f" to {entry['most']:,}"
        rows.append((figure, f"{now:,}", f"{entry['limit']:,}" if "limit" in entry else "-", goal))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for name, *numbers in rows:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:])]
        print(" | ".join([name.ljust(widths[0]), *cells]))


def main(arguments: list[str]) -> int:
    ratchet = arguments[:1] == ["--ratchet"]
    if len(arguments) != 1 + ratchet or arguments[-1].startswith("-"):
        print("usage: count.py [--ratchet] ROOT", file=sys.stderr)
        return 2
    root = Path(arguments[-1])
    path = root / LIMITS
    try:
        limits = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        print(f"count.py: {path} cannot be read: {error}", file=sys.stderr)
        return 2
    figures = Tally(root).figures()
    if ratchet:
        for figure, now in figures.items():
            entry = limits.setdefault(figure, {})
            limit = ratcheted(figure, now, entry.get("limit"))
            limits[figure] = {"limit": None} | entry | {"limit": limit}  # the limit stands first
        rows = (f"  {json.dumps(figure)}: {json.dumps(limits[figure])}" for figure in limits)
        path.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print_table(figures, limits)
    breaches = [breach(figure, now, limits.get(figure, {})) for figure, now in figures.items()]
    unknown = sorted(limits.keys() - figures)
    breaches += [f"{figure}: stands in {LIMITS} and is no figure" for figure in unknown]
    for line in filter(None, breaches):
        print(line)
    return 1 if any(breaches) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
