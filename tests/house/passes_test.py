"""The intervals that tools/study/passes.py makes of several passes. By unittest."""

import math
import random
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/study"))
import passes  # noqa: E402


def draw(shapes: int, count: int, spread: float, effect: float = 0.0) -> list[passes.Pass]:
    """Passes over tiny shapes whose kernel is the library's, `effect` apart."""
    random.seed(7)
    made: list[passes.Pass] = []
    for _ in range(count):
        one: passes.Pass = {}
        for index in range(shapes):
            kernel = random.gauss(0.1, spread)
            library = kernel + random.gauss(effect if index % 2 else 0.0, spread)
            row = passes.Row({"kernel": kernel, "library": library}, "tiny warp_m=16")
            one[(64, 64, 64 + index), "device"] = row
        made.append(one)
    return made


class Passes(unittest.TestCase):
    def test_one_in_a_hundred_of_equal_kernels_is_called_different(self) -> None:
        count, different = passes.again(draw(4000, 3, 0.01))
        self.assertEqual(count, 4000)
        self.assertLess(abs(different - 40), 25)

    def test_a_kernel_with_a_workspace_is_none_of_them(self) -> None:
        self.assertTrue(passes.has_workspace("wgmma slices=4 splits=1"))
        self.assertFalse(passes.has_workspace("tiny cluster_slices=2 slices=1"))

    def test_the_interval_holds_the_truth_99_times_in_100(self) -> None:
        by_shape = passes.draws_of(draw(4000, 3, 0.02))["device", "kernel"]
        rows, off = passes.combine(by_shape)
        missed = sum(abs(row.mean - 0.1) > row.half for row in rows)
        self.assertLess(abs(missed - 40), 25)
        self.assertAlmostEqual(passes.quantile(off["tiny"], 0.99), 0.0515, delta=0.003)
        self.assertEqual(off["large"], [])  # no shape of it

    def test_a_lone_pass_has_no_interval(self) -> None:
        rows, _ = passes.combine(passes.draws_of(draw(10, 1, 0.01))["device", "kernel"])
        self.assertTrue(all(math.isnan(row.half) for row in rows))

    def test_a_library_that_ran_another_choice_is_left_out(self) -> None:
        [one] = draw(2, 1, 0.01)
        shapes = [shape for shape, _ in one]
        kept = passes.as_chosen(one, {shapes[0]: "tiny warp_m=16", shapes[1]: "cublaslt"})
        self.assertEqual(kept[shapes[0], "device"], one[shapes[0], "device"])
        self.assertEqual(list(kept[shapes[1], "device"].logs), ["kernel"])

    def test_a_library_without_its_pack_is_left_out(self) -> None:
        table = "m,n,k,mode,choice,ratio_kernel,ratio,ratio_plain\n64,64,64,device,tiny,2,1,\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pass.csv"
            for pack, logs in [("none", {"kernel"}), ("gemm.wspack 12", {"kernel", "library"})]:
                path.write_text(f"# pack: {pack}\n{table}")
                row = passes.read_pass(str(path))[(64, 64, 64), "device"]
                self.assertEqual(set(row.logs), logs)
                self.assertAlmostEqual(row.logs["kernel"], math.log(2))

    def test_the_pages_say_what_the_data_say(self) -> None:
        grid = passes.shipped()
        self.assertEqual(passes.MEANS.read_text(), passes.means(grid))
        for name, lines in passes.pages(grid).items():
            page = (passes.ROOT / name).read_text()
            self.assertEqual(page.splitlines(), passes.updated(page, lines).splitlines())

    def test_only_what_was_not_measured_again_is_told_of(self) -> None:
        first, second = draw(10, 2, 0.01)
        shapes = [shape for shape, _ in first]
        del second[shapes[0], "device"]
        for one, choices, told in [([first, second], shapes, "1 (0 medium or large) were not measured"),
                                   ([second, second], shapes, "1 (tiny) are missing"),
                                   ([second, second], shapes[1:], "")]:  # fmt: skip
            found = {key: passes.combine(logs) for key, logs in passes.draws_of(one).items()}
            text = passes.text_of_choices(passes.Grid(dict.fromkeys(choices, ""), one, [], found))
            self.assertTrue(text.strip().startswith(told) if told else text == "", text)

    def test_an_update_replaces_the_row_and_the_text_that_begin_alike(self) -> None:
        page = "| more | 1 |\n\nThree words more."
        lines = ["| more | 2 |", "Three words more and others."]
        self.assertEqual(passes.updated(page, lines), "| more | 2 |\n\nThree words more and others.")


if __name__ == "__main__":
    unittest.main()
