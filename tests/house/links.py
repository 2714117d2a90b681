"""Holds what the pages and the sources point at: every link and every named path must exist.

    links.py ROOT     prints "file:line: what is wrong"; the exit status is 1 when something is

Of the files of the checkout (checkout.py):

  *.md                relative links and images, with their #anchors (GitHub's, from headings)
  pages               docs/*.md and *.md of no folder, without CHANGELOG.md: paths in `back quotes`
                      that begin with a folder of the tree, or with a folder of src and end in a
                      source's ending. A path with a wildcard or a placeholder is left alone.
  promises            on a page, each test that a sentence "Held by `Suite.Name`, `Name…`" names; and
                      each bold promise of SECURITY.md has such a sentence
  everything else     each docs/NAME.md that a source, a script or a text names
  comments in src     each source file that they name, with or without its folder, but for headers
                      of CUDA and fmt
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from checkout import files_of

FOLDERS = {"bench", "cmake", "data", "docs", "examples", "include", "python", "skills", "src",
           "tasks", "tests", "tools"}
SOURCES = {".cc", ".cu", ".cuh", ".h", ".py", ".js", ".sql"}
# What lies in these was measured, or is a sample that names what does not exist.
FOREIGN = ("data/", "tests/fuzz/seeds/", "tests/house/")

FENCE = re.compile(r"^\s*(```|~~~)")
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
PAGE = re.compile(r"(?<![\w./-])docs/[\w./-]+?\.md")
HELD_BY = re.compile(r"\bHeld by (.*?)\.(?=\s|$)")
PROMISE = re.compile(r"- \*\*")
TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)")
COMMENT = re.compile(r"(?:^|\s)//(.*)")
FILE = re.compile(r"(?<![\w./<\"-])(?!cuda|fmt/)((?:[a-z_]+/)*[a-z]\w*\.(?:h|cc|cuh))\b")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")


def prose(text: str) -> list[tuple[int, str]]:
    """The lines of a page that are no code block, with their numbers from 1."""
    lines, fenced, in_code, was_blank = [], False, False, True
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line) is not None
        fenced ^= fence
        in_code = line.startswith("    ") and (was_blank or in_code)  # after a blank line
        was_blank = not line.strip()
        if not (fence or fenced or in_code):
            lines.append((number, line))
    return lines


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Of all headings; the second of one name ends in -1, and so on."""
    names = [slug(match[1]) for _, line in prose(text) if (match := HEADING.match(line))]
    before = [names[:at].count(name) for at, name in enumerate(names)]
    return {f"{name}-{count}" if count else name for name, count in zip(names, before)}


class Tree:
    def __init__(self, root: Path):
        self.root = root
        self.files = files_of(root)
        self.src = {path.name for path in (root / "src").glob("*") if path.is_dir()}
        self.tests = {match for name in self.files
                      if name.endswith(".cc") and not name.startswith(FOREIGN)
                      for match in TEST.findall(self.text(name))}

    def text(self, name: str) -> str:
        return (self.root / name).read_text(errors="replace")

    def wrong_link(self, page: str, target: str) -> str | None:
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return None
        path, _, anchor = target.partition("#")
        file = (self.root / page).parent / path if path else self.root / page
        if not file.exists():
            return f"link to {target}: no such file"
        known = anchors(file.read_text(errors="replace")) if file.suffix == ".md" else {anchor}
        return f"link to {target}: no heading of that name" if {anchor} - known - {""} else None

    def wrong_path(self, code: str) -> str | None:
        name = f"{code} ".split()[0].split(":")[0].rstrip(",;")
        if not PATH.fullmatch(name):
            return None
        first = name.split("/")[0]
        if first in FOLDERS and not (self.root / name).exists():
            return f"`{name}`: no such path"
        if first in self.src - FOLDERS and Path(name).suffix in SOURCES:
            return None if (self.root / "src" / name).exists() else f"`{name}`: not in src"
        return None

    def missing_tests(self, sentence: str) -> list[str]:
        """Of "`Suite.Name`, `Name…`, `OtherSuite`, `tests/attacks`", those that do not exist. A name
        may end in "…" or "*"; one without a suite is of the suite before it, or is a suite."""
        missing, suite = [], ""
        for code in CODE.findall(sentence):
            if "/" in code:  # a path
                continue
            first, dot, rest = code.partition(".")
            is_suite = bool(dot) or any(first == name for name, _ in self.tests)
            suite = first if is_suite else suite
            name = rest if is_suite else first
            start = name.rstrip("…*")
            fits = [test for of, test in self.tests if of == suite and (
                test.startswith(start) if name != start or not name else test == name)]
            missing += [] if fits else [f"`{code}`: no such test"]
        return missing

    def of_promises(self, page: str) -> list[str]:
        wrong = []
        for number, line in prose(self.text(page)):
            held = HELD_BY.findall(line)
            found = [what for sentence in held for what in self.missing_tests(sentence)]
            if page == "SECURITY.md" and PROMISE.match(line) and not held:
                found.append("a promise that names no test: Held by `Suite.Name`.")
            wrong += [f"{page}:{number}: {what}" for what in found]
        return wrong

    def of_page(self, page: str, checks_paths: bool) -> list[str]:
        wrong = []
        for number, line in prose(self.text(page)):
            found = [self.wrong_link(page, target) for target in LINK.findall(CODE.sub("", line))]
            if checks_paths:
                found += [self.wrong_path(code) for code in CODE.findall(line)]
            wrong += [f"{page}:{number}: {what}" for what in found if what]
        return wrong

    def of_source(self, name: str) -> list[str]:
        wrong = []
        for number, line in enumerate(self.text(name).splitlines(), 1):
            gone = [page for page in PAGE.findall(line) if not (self.root / page).exists()]
            if name.startswith("src/") and Path(name).suffix in {".h", ".cc", ".cuh"}:
                comment = " ".join(COMMENT.findall(line))
                gone += [file for file in FILE.findall(comment) if not self.is_source(file)]
            wrong += [f"{name}:{number}: names {what}, which does not exist" for what in gone]
        return wrong

    def is_source(self, file: str) -> bool:
        return any(f"/{path}".endswith(f"/{file}") for path in self.files)

    def check(self) -> list[str]:
        wrong = []
        for name in self.files:
            if name.startswith(FOREIGN):
                continue
            if name.endswith(".md"):
                is_page = name.startswith("docs/") or "/" not in name
                wrong += self.of_page(name, is_page and name != "CHANGELOG.md")
                wrong += self.of_promises(name) if is_page else []
            if not name.startswith("docs/") and name != "CHANGELOG.md":
                wrong += self.of_source(name)
        return wrong


def main() -> int:
    wrong = Tree(Path(sys.argv[1])).check()
    print("\n".join(wrong or ["every link and every named path exists"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
