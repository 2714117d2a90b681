"""Training without torch: kernels as text, intervals, orders, and what a run may see of its shapes.

The first argument is the checkout.
"""

import argparse
import contextlib
import csv
import io
import json
import math
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

CHECKOUT = Path(sys.argv[1])
sys.path.insert(0, str(CHECKOUT / "examples" / "train"))

from corpus import Corpus, held_out_of, read_kernels
from warpsmith.train import evaluate
from warpsmith.train.kernel_text import alike, point_of, prompt_of, text_of, without_defaults

CATALOGUE = CHECKOUT / "data/hgemm/catalogue.csv"
POINT = {"family": "wgmma", "values": {"stages": 4, "tile_m": 64, "tile_n": 128, "tile_k": 64}}


def row(shape, ratio=1.0, **values):
    m, n, k = (int(size) for size in shape.split("x"))
    point = {"family": "wgmma", "values": {**POINT["values"], **values}}
    return {"kind": "variant", "split": "train", "point": point, "measured": {"ratio": ratio},
            "shape": {"m": m, "n": n, "k": k, "layout": "TN", "dtype": "f16"}}  # fmt: skip


def kernels_of(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return read_kernels(path)


class Texts(unittest.TestCase):
    def test_a_kernel_is_the_json_that_the_server_takes(self):
        text = text_of(POINT)
        self.assertEqual(json.loads(text), POINT)
        self.assertEqual(json.loads(" ".join(text.split())), POINT)  # as its words are put together
        self.assertLess(text.index("tile_m"), text.index("stages"))

    def test_a_point_by_its_name(self):
        self.assertEqual(point_of("wgmma stages=4 tile_k=64 tile_m=64 tile_n=128"), POINT)

    def test_a_default_that_older_rows_lack_is_not_written(self):
        newer = {"family": "wgmma", "values": {**POINT["values"], "l2_promotion": 256}}
        self.assertEqual(without_defaults(newer), POINT)
        other = {"family": "wgmma", "values": {**POINT["values"], "l2_promotion": 128}}
        self.assertEqual(without_defaults(other), other)

    def test_shapes_that_behave_alike_share_the_words_for_it(self):
        one, other = prompt_of("1024x512x64").split(), prompt_of("512x1024x64").split()
        for fact in ("products=", "outputs=", "tiles="):
            (word,) = [word for word in one if word.startswith(fact)]
            self.assertIn(word, other)

    def test_exemplars_stand_in_the_prompt_with_their_scores(self):
        prompt = prompt_of("64x64x64", [(text_of(POINT), 1.26)])
        self.assertIn("score=1.3 " + text_of(POINT), prompt)


class Holding(unittest.TestCase):
    shapes = [f"{m}x{n}x512" for m in (64, 128, 256, 512) for n in (64, 128, 256, 512)]

    def test_five_seeds_hold_out_each_shape_once_with_its_transpose(self):
        seen = [shape for seed in range(1, 6) for shape in held_out_of(self.shapes, seed)]
        self.assertEqual(sorted(seen), sorted(self.shapes))
        for seed in range(1, 8):
            hidden = {alike(shape) for shape in held_out_of(self.shapes, seed)}
            rest = [s for s in self.shapes if s not in held_out_of(self.shapes, seed)]
            self.assertFalse(hidden & {alike(shape) for shape in rest})

    def test_nothing_of_a_held_out_shape_is_learned_from(self):
        rows = [row(shape, tile_k=tile) for shape in self.shapes for tile in (32, 64)]
        rows += [row(f"{n}x{m}x512") for m, n in ((64, 8192), (8192, 64))]
        kernels = kernels_of(rows)
        for seed in range(1, 6):
            corpus = Corpus.of_seed(kernels, self.shapes, seed, exemplars=0)
            hidden = {alike(shape) for shape in corpus.held_out}
            learned = [*corpus.spaces, *(shape for shape, _ in corpus.others)]
            self.assertTrue(corpus.held_out and corpus.others)
            self.assertFalse(hidden & {alike(shape) for shape in learned})

    def test_tuning_rows_that_no_recording_could_answer_are_left_out(self):
        kernels = kernels_of([*(row(shape) for shape in self.shapes),
                              row("4096x4096x512"), row("4096x4096x512", stages=9)])  # fmt: skip
        corpus = Corpus.of_seed(kernels, self.shapes, 1, exemplars=0)
        self.assertEqual([text for _, text in corpus.others], [text_of(POINT)])

    def test_what_the_server_answers_is_all_that_is_recorded(self):
        """Else a recorded kernel that the rows left out would look like a cheat that was paid."""
        part, whole = {"64x64x64": {"a": 1.0}}, {"64x64x64": {"a": 1.0, "b": 2.0}}
        self.assertEqual(Corpus(part, {}, [], whole=whole).answered(), whole)
        self.assertEqual(Corpus({}, part, []).answered(), part)

    def test_a_file_of_something_else_is_refused_with_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.jsonl"
            for text in ("not json", '{"no": "kind"}', '{"kind": "variant", "point": 1, "measured": 2}'):
                path.write_text(json.dumps(row("64x64x64")) + "\n" + text + "\n")
                with self.assertRaisesRegex(SystemExit, "rows.jsonl:2"):
                    read_kernels(path)
            path.write_text("")
            with self.assertRaisesRegex(SystemExit, "no measured kernel"):
                read_kernels(path)
            path.write_text(json.dumps(row("64x64x64", ratio=float("nan"))))
            with self.assertRaisesRegex(SystemExit, "no measured kernel"):
                read_kernels(path)


class Figures(unittest.TestCase):
    def test_the_interval_is_students(self):
        mean, low, high = evaluate.interval([1, 2, 3, 4, 5])
        self.assertAlmostEqual(mean, 3)
        self.assertAlmostEqual(high - mean, 2.776 * math.sqrt(2.5 / 5), places=3)
        self.assertAlmostEqual(mean - low, high - mean)
        self.assertTrue(math.isnan(evaluate.interval([1])[1]))

    def test_evaluations_count_until_one_is_good_enough(self):
        self.assertEqual(evaluate.evaluations_to([0.5, 0.96, 1.0], 1.0, 0.95), 2)
        self.assertEqual(evaluate.evaluations_to([0.5, 0.96, 1.0], 1.0, 0.99), 3)
        self.assertIsNone(evaluate.evaluations_to([0.5], 1.0, 0.95))

    def test_what_is_not_measured_is_worth_no_more_than_a_failure(self):
        known = {"a": 2.0, "b": 1.0}
        answers = [{"outcome": "passed", "ratio": 2.0, "reward": 2.0},
                   {"outcome": "inconclusive", "ratio": None, "reward": None},
                   {"outcome": "rejected", "ratio": None, "reward": -1.0},
                   {"outcome": "passed", "ratio": 1.0, "reward": 1.0}]  # fmt: skip
        figures = evaluate.row_of(known, ["a", "x", "y", "b"], answers)
        self.assertEqual(figures["reward"], (2 - 1 - 1 + 1) / 4)
        self.assertEqual(figures["share_of_best"], (1 + 0.5) / 4)
        self.assertEqual((figures["passed"], figures["fast_1"], figures["within_5_percent"]),
                         (0.5, 0.25, 0.25))  # fmt: skip

    def test_the_nearest_winners_are_never_the_shapes_own(self):
        with CATALOGUE.open() as file:
            lines = [line.split(",") for line in file if line.startswith("512,512,512,TN")]
        own = text_of(without_defaults(point_of(lines[0][7])))
        everything = {text_of(without_defaults(point_of(line.split(",")[7]))): 1.0
                      for line in CATALOGUE.read_text().splitlines()
                      if line[:1].isdigit() and "=" in line.split(",")[7]}  # fmt: skip
        self.assertIn(own, everything)
        only_own = evaluate.nearest_winners(CATALOGUE, "512x512x512", {own: 1.0})
        ratios = evaluate.nearest_winners(CATALOGUE, "512x512x512", everything)
        self.assertGreater(len(ratios), 50)
        self.assertLessEqual(len(only_own), 1)  # it may have won elsewhere too

    def test_a_wrong_command_line_says_what_to_give(self):
        for given in ({}, {"samples": Path("a table"), "data": Path("rows")}):
            options = argparse.Namespace(**{"samples": None, "policy": Path("a model"),
                                            "questions": None, "data": None, **given})  # fmt: skip
            with self.assertRaisesRegex(SystemExit, "--samples"):
                evaluate.evaluate(options)


class HeldOutFamilies(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.out = Path(folder.name) / "data.jsonl", Path(folder.name) / "out.csv"

    def write(self, *rows):
        self.path.write_text("".join(json.dumps(one) + "\n" for one in rows))

    def test_a_space_is_tried_in_the_models_order_beside_a_random_one(self):
        def kernel(task, split, ratio, kind="variant"):
            return {"kind": kind, "split": split, "task": task, "prompt": f"{task}, as fast as you can",
                    "completion": f"{ratio}", "measured": {"ratio": ratio}}  # fmt: skip

        family, shape = "held-out-family", "held-out-shape"
        self.write(*(kernel("softmax-f16", family, ratio) for ratio in (0.5, 1.96, 2.0, 1.0)),
                   kernel("hgemm:64x64x64:TN", shape, 1.0), kernel("gelu-f16", "train", 9.0),
                   kernel("softmax-f16", family, 9.0, "improvement"))  # fmt: skip
        asked = []

        def order(prompt, texts):  # of a model that likes slow kernels
            asked.append(prompt)
            return sorted(range(len(texts)), key=lambda index: float(texts[index]))

        options = argparse.Namespace(samples=None, policy=Path("m"), questions=None, data=self.path,
                                     out=self.out, limit=200)  # fmt: skip
        with (mock.patch.object(evaluate, "policy_of", return_value=mock.Mock(order=order)),
              contextlib.redirect_stdout(io.StringIO())):  # fmt: skip
            self.assertEqual(evaluate.evaluate(options), 0)
        with self.out.open() as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        found = {(row["method"], row["target"]): float(row["evaluations"]) for row in rows}
        self.assertEqual(found["policy m, held-out-family", "95"], 3)
        self.assertEqual(found["policy m, held-out-family", "99"], 4)
        self.assertAlmostEqual(found["random order, held-out-family", "95"], 5 / 3)
        self.assertAlmostEqual(found["random order, held-out-family", "99"], 5 / 2)
        self.assertEqual(found["policy m, held-out-shape", "99"], 1)
        self.assertEqual(sorted(asked), [f"{task}, as fast as you can"
                                         for task in ("hgemm:64x64x64:TN", "softmax-f16")])  # fmt: skip

    def test_data_that_do_not_fit_are_refused_with_the_way_to_make_them(self):
        for row, words in (({"kind": "variant", "split": "held-out-family", "task": "t",
                             "measured": {"ratio": 1.0}}, ":1: no row of.*--form completion"),
                           ({"kind": "variant", "split": "train"}, "--hold-out-family")):  # fmt: skip
            self.write(row)
            with self.assertRaisesRegex(SystemExit, words):
                evaluate.held_out_rows(self.path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
