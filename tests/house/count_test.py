"""The counting of count.py, on a small tree whose figures are known. count_test.py, by unittest."""

import contextlib
import io
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

import count

HEADER = """\
// One whole sentence.
#include <string>
struct Forward;
/* Two lines
   of comment. */
struct Plain { int a; };  // a trailing comment

template <typename T>
class Box final : public Base<T> {
  enum class Kind : int { kOne };
  // struct Commented {
  union Bits { int i; };
};
enum Old {
  kOld
};
struct Box<int> Make(struct Plain* plain);
inline const char* kSource = R"(
// no comment
struct NoType {
)";
"""
PYTHON = '''\
#!/usr/bin/env python3
"""A docstring

of two written lines."""
# a comment
text = "# none"  # a trailing comment
"also one".strip()
'''
SHELL = "#!/bin/sh\n# a comment\necho '# none'\n"
TREE = {
    "src/core/box.h": HEADER,  # 21 lines, 4 of comment, 5 types
    "src/core/box.cc": '// a comment\nint big = 1\'000; char quote = \'"\';  // trailing\n',
    "src/core/box_test.cc": "int main() {}\n" * 5,
    "src/task/__pycache__/old.pyc": "",
    "src/task/fake/task.cc": "int a;\nint b",
    "src/task/page.js": "// not in the share\n",
    "src/CMakeLists.txt": "# a comment\n\nproject(x)\n",
    "src/task/prompts/words.md": "not docs",
    "tools/setup": SHELL,
    "tools/words.txt": "not code\n",
    "python/run.py": PYTHON,
    "python/test_run.py": "import run\n",
    "python/tests/gpu.py": "import run\n",
    "examples/a.c": "int a;\n",
    "tests/all.sh": SHELL,
    "tasks/a/kernel.cu": "no count\n",
    "data/kernel.cu": "x" * 1_230_000,
    "README.md": "one two three\n",
    "CHANGELOG.md": "not counted\n",
    "docs/perf/a.md": "four five\n",
    "build/made.cc": "int made;\n",
    "report.html": "made\n",
    ".hidden/made.cc": "int made;\n",
}
FIGURES = {
    "folders in src": 2,
    "product lines": 21 + 2 + 2 + 1 + 3 + 3 + 7,
    "all lines": 39 + 5 + 1 + 1 + 1 + 3,
    "header types per 1000 product lines": 128.21,  # 5 of 39
    "median lines of a product file": 3,
    "comment-only lines, %": 26.32,  # 4 + 1 + 1 + 1 + 3 = 10 of 38
    "words of docs": 5,
    "words of README": 3,
    "data, MB": 1.23,
}


class CountTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in TREE.items():
            self.write(name, text)
        self.write_limits({})

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_limits(self, changes):
        """Limits that the tree just keeps, but for `changes`."""
        limits = {name: {"limit": now, "goal": 1} for name, now in FIGURES.items()}
        self.write(count.LIMITS, json.dumps(limits | changes))

    def limits(self):
        return json.loads((self.root / count.LIMITS).read_text())

    def run_count(self, *options):
        """Exit status and stdout."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = count.main([*options, str(self.root)])
        return status, out.getvalue()

    def test_every_figure_has_its_one_answer(self):
        self.assertEqual(count.Tally(self.root).figures(), FIGURES)

    def test_git_says_which_files_count(self):
        (self.root / ".gitignore").write_text("*\n")  # nothing but what is added by force
        for command in (["init", "-q"], ["add", "-f", "src/core", "README.md"]):
            subprocess.run(["git", "-C", str(self.root), *command], check=True)
        (self.root / "src/core/box.cc").unlink()  # still in the index
        figures = count.Tally(self.root).figures()
        self.assertEqual(figures["folders in src"], 1)
        self.assertEqual(figures["product lines"], 21)
        self.assertEqual(figures["data, MB"], 0)

    def test_kept_limits_exit_0(self):
        status, out = self.run_count()
        self.assertEqual(status, 0, out)
        self.assertEqual(len(out.splitlines()), 1 + len(FIGURES))
        row = next(line for line in out.splitlines() if line.startswith("product lines"))
        cells = [cell.strip() for cell in row.split("|")]
        self.assertEqual(cells, ["product lines", "39", "39", "1"])

    def test_each_exceeded_limit_is_one_line_and_exits_1(self):
        for figure, now in FIGURES.items():
            with self.subTest(figure):
                by = 1 if figure in count.GROWING else -1
                self.write_limits({figure: {"limit": now + by, "goal": 1}})
                status, out = self.run_count()
                self.assertEqual(status, 1)
                said = out.splitlines()[1 + len(FIGURES) :]
                self.assertEqual(len(said), 1, out)
                self.assertTrue(said[0].startswith(f"{figure}: {now:,} is "), said[0])

    def test_a_figure_may_have_a_most(self):
        figure = "median lines of a product file"
        self.write_limits({figure: {"limit": 1, "goal": 2, "most": 2}})
        status, out = self.run_count()
        self.assertEqual(status, 1)
        self.assertIn(f"{figure}: 3 is over 2, the most it may be", out)

    def test_a_missing_limit_and_an_unknown_one_exit_1(self):
        self.write_limits({"product lines": {"goal": 1}, "pages": {"limit": 1, "goal": 1}})
        status, out = self.run_count()
        self.assertEqual(status, 1)
        self.assertIn("product lines: has no limit", out)
        self.assertIn("pages: stands in tests/house/limits.json and is no figure", out)

    def test_the_ratchet_moves_only_towards_the_goal(self):
        self.write_limits(
            {
                "product lines": {"limit": 1000, "goal": 1},
                "all lines": {"limit": 10, "goal": 1},
                "median lines of a product file": {"limit": 1, "goal": 9, "most": 20},
                "comment-only lines, %": {"limit": 90, "goal": 99},
                "data, MB": {"goal": 1},
            }
        )
        status, out = self.run_count("--ratchet")
        self.assertEqual(status, 1, out)  # two figures are still beyond their limits
        limits = self.limits()
        self.assertEqual(limits["product lines"], {"limit": 39, "goal": 1})
        self.assertEqual(limits["all lines"], {"limit": 10, "goal": 1})
        median = {"limit": 3, "goal": 9, "most": 20}
        self.assertEqual(limits["median lines of a product file"], median)
        self.assertEqual(limits["comment-only lines, %"], {"limit": 90, "goal": 99})
        self.assertEqual(limits["data, MB"], {"goal": 1, "limit": 1.23})

    def test_the_ratchet_leaves_half_a_per_cent(self):
        self.assertEqual(count.ratcheted("product lines", 1000, None), 1005)
        self.assertEqual(count.ratcheted("product lines", 1000, 1003), 1003)
        self.assertEqual(count.ratcheted("median lines of a product file", 1000, None), 995)
        self.assertEqual(count.ratcheted("data, MB", 10.0, None), 10.05)

    def test_a_wrong_call_exits_2(self):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(count.main([]), 2)
            self.assertEqual(count.main(["--ratchet"]), 2)
            (self.root / count.LIMITS).write_text("{")
            self.assertEqual(count.main([str(self.root)]), 2)
        self.assertIn("limits.json cannot be read", err.getvalue())


if __name__ == "__main__":
    unittest.main()
