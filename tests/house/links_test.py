"""The checks of links.py, on a small tree whose broken links are known. By unittest."""

import tempfile
import unittest
from pathlib import Path

import links

GOOD = """\
# A title: with `code`, twice

[itself](#a-title-with-code-twice), [the other](docs/other.md#second-1), ![an image](docs/a.svg),
[elsewhere](https://example.com/nothing), `src/core/value.h`, `core/value.h`, `src/*/other.h`.

    [in code](nowhere.md)

```
[in a fence](nowhere.md)
```
"""
OTHER = "# Second\n\n## Second\n\n[back](../README.md)\n"


class Links(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("README.md", GOOD)
        self.write("docs/other.md", OTHER)
        self.write("docs/a.svg", "<svg/>")
        self.write("src/core/value.h", "// docs/other.md says more.\n")

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def test_a_good_tree(self):
        self.assertEqual(links.Tree(self.root).check(), [])

    def test_each_broken_one_is_named_with_its_line(self):
        self.write("docs/broken.md", "[a](gone.md)\n[b](other.md#third)\n`src/core/gone.h`\n"
                                     "`core/gone.h` and `docs/gone.md`\n")
        self.write("src/core/value.h", "// value.h, core/value.h, cuda.h.\n// See docs/gone.md.\n"
                                       "int a;  // (gone.h), tasks/value.h\n")
        self.assertEqual(sorted(links.Tree(self.root).check()), [
            "docs/broken.md:1: link to gone.md: no such file",
            "docs/broken.md:2: link to other.md#third: no heading of that name",
            "docs/broken.md:3: `src/core/gone.h`: no such path",
            "docs/broken.md:4: `core/gone.h`: not in src",
            "docs/broken.md:4: `docs/gone.md`: no such path",
            "src/core/value.h:2: names docs/gone.md, which does not exist",
            "src/core/value.h:3: names gone.h, which does not exist",
            "src/core/value.h:3: names tasks/value.h, which does not exist",
        ])

    def test_a_promise_names_tests_that_exist(self):
        self.write("src/core/value_test.cc", "TEST(Values, AreKept) {}\nTEST_F(Store, Keeps) {}\n"
                                             "RC_GTEST_PROP(Values, AreRead, (int i)) {}\n")
        good = "- **Kept.** Held by `Values.Are…`, `AreRead`, `Store`, `Store.*`, `tests/attacks`.\n"
        self.write("SECURITY.md", good + "Always. Held by `Values.AreKept`. And more.\n")
        self.assertEqual(links.Tree(self.root).check(), ["SECURITY.md:1: `tests/attacks`: no such path"])
        self.write("SECURITY.md", "- **Lost.** It is not.\n- **Kept.** Held by `Values.AreLost`.\n"
                                  "- **Kept.** Held by `Value.AreKept`, `Store.Keeps`, `Kept…`.\n")
        self.assertEqual(links.Tree(self.root).check(), [
            "SECURITY.md:1: a promise that names no test: Held by `Suite.Name`.",
            "SECURITY.md:2: `Values.AreLost`: no such test",
            "SECURITY.md:3: `Value.AreKept`: no such test",
            "SECURITY.md:3: `Kept…`: no such test",
        ])


if __name__ == "__main__":
    unittest.main()
