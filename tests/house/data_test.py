"""That data.py finds what it is there to find, by unittest."""

import unittest

import data

ROW = "| `{}` | what | `command` | H200 | 2026-11-22 |\n"


class Faults(unittest.TestCase):
    def test_a_table_that_describes_every_file_once_has_none(self) -> None:
        readme = "| file | what |\n| --- | --- |\n" + ROW.format("a/*.csv") + ROW.format("b.txt")
        self.assertEqual(data.faults_of(readme, ["a/x.csv", "a/y.csv", "b.txt"]), [])

    def test_a_file_without_a_row_is_named(self) -> None:
        self.assertEqual(
            data.faults_of(ROW.format("a.csv"), ["a.csv", "b.csv"]),
            ["b.csv: matches 0 rows, expected 1: "],
        )

    def test_a_star_stays_within_one_folder(self) -> None:
        faults = data.faults_of(ROW.format("a/*"), ["a/b/c.csv", "a/c.csv"])
        self.assertEqual(faults, ["a/b/c.csv: matches 0 rows, expected 1: "])

    def test_a_file_with_two_rows_is_named(self) -> None:
        faults = data.faults_of(ROW.format("*.csv") + ROW.format("a.*"), ["a.csv"])
        self.assertEqual(faults, ["a.csv: matches 2 rows, expected 1: *.csv, a.*"])

    def test_a_row_without_a_file_is_named(self) -> None:
        self.assertEqual(
            data.faults_of(ROW.format("gone.csv"), []), ["gone.csv: no file matches this row"]
        )

    def test_an_empty_cell_is_named(self) -> None:
        faults = data.faults_of("| `a.csv` | what |  | H200 | 2026-11-22 |\n", ["a.csv"])
        self.assertEqual(faults, ["a.csv: the row needs 5 cells with text"])


if __name__ == "__main__":
    unittest.main()
