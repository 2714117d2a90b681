"""The terminal that tools/study/terminal_svg.py draws. By unittest."""

import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "tools" / "study"))
import terminal_svg  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def text_of(written):
    screen = terminal_svg.Screen()
    screen.write(written)
    return ["".join(cell[0] for cell in line).rstrip() for line in screen.drawn()]


class Screen(unittest.TestCase):
    def test_a_line_that_is_redrawn_stands_once(self):
        self.assertEqual(text_of("1/9\r\x1b[K2/9\r\x1b[Kdone\n"), ["done"])

    def test_what_is_erased_is_gone_and_what_is_shorter_overwrites(self):
        self.assertEqual(text_of("abcdef\rxy\nfar\x1b[2K\n"), ["xycdef"])

    def test_the_cursor_moves_up_and_a_title_is_not_drawn(self):
        self.assertEqual(text_of("one\ntwo\n\x1b[2A\x1b]0;title\x07six\n"), ["six", "two"])

    def test_colours_last_until_they_are_reset(self):
        screen = terminal_svg.Screen()
        screen.write("\x1b[1;32mok\x1b[0m no")
        self.assertEqual(terminal_svg.runs(screen.drawn()[0]), [
            (0, "ok", (terminal_svg.COLOURS[32], True, False)), (3, "no", (None, False, False))])


    def test_a_line_that_is_cropped_says_so(self):
        screen = terminal_svg.Screen()
        screen.write("abcdef\nabcd\nab  cd")
        self.assertEqual(["".join(cell[0] for cell in terminal_svg.cropped(line, 4))
                          for line in screen.drawn()], ["abc…", "abcd", "ab  "])


class Picture(unittest.TestCase):
    def test_a_run_becomes_an_svg_with_its_words_in_their_columns(self):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "images" / "run.svg"
            command = ["sh", "-c", "printf 'a < b   \\033[31mred\\033[0m\\n'; exit 3"]
            with mock.patch("sys.argv", ["terminal_svg.py", "-o", str(output), "--shown", "run",
                                         "--columns", "40", "--", *command]):
                self.assertEqual(terminal_svg.main(), 3)
            words = {text.text: text.attrib
                     for text in xml.etree.ElementTree.parse(output).iter(SVG + "text")}
        self.assertEqual(list(words), ["$", "run", "a < b", "red"])
        self.assertEqual(words["red"]["fill"], terminal_svg.COLOURS[31])
        self.assertAlmostEqual(float(words["red"]["x"]) - float(words["a < b"]["x"]),
                               8 * terminal_svg.CELL_WIDTH, places=1)


if __name__ == "__main__":
    unittest.main()
