"""TRL's own GRPOTrainer takes its rewards from the server: a model made on the spot, two steps. And
examples/train/run.py trains, stops, goes on and says what came of it."""

import csv
import json
import subprocess
import sys
import tempfile
import threading
import unittest
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

from serving import CHECKOUT, PROGRAM, SHAPE, TASK, points, reply, serving

sys.path.insert(0, str(CHECKOUT / "examples" / "train"))
import samples
import torch
from canary import Canary
from corpus import Corpus
from datasets import Dataset
from one_word import byte_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer

from warpsmith.train import policy
from warpsmith.train.kernel_text import text_of
from warpsmith_rewards import Judge
from warpsmith_rewards.trl import reward_function


class Trl(unittest.TestCase):
    def setUp(self):
        self.rows = points()
        self.good, self.slow = self.rows[0], self.rows[-1]
        server = serving()
        self.judge = Judge(server.__enter__())
        self.addCleanup(server.__exit__, None, None, None)
        self.addCleanup(self.judge.close)

    def train(self, completions, steps, **options):
        """The trainer's log of `steps` steps in which the policy's words are replaced by these."""
        torch.manual_seed(1)
        tokenizer = byte_tokenizer()
        model = LlamaForCausalLM(
            LlamaConfig(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32,
                        num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64,
                        eos_token_id=0, pad_token_id=0))  # fmt: skip
        ours, seen = reward_function(self.judge, **options), []

        async def reward(prompts, completions, **rest):  # as generated, then as scripted
            seen.append(await ours(prompts=prompts, completions=scripted, **rest))
            return seen[-1]

        scripted = completions
        with tempfile.TemporaryDirectory() as folder:
            trainer = GRPOTrainer(
                model, reward_funcs=reward, processing_class=tokenizer,
                train_dataset=Dataset.from_list([{"prompt": "fast:", "task": TASK}] * 8),
                args=GRPOConfig(output_dir=folder, per_device_train_batch_size=4,
                                num_generations=4, max_completion_length=4, max_steps=steps,
                                logging_steps=1, report_to=[], use_cpu=True, save_strategy="no",
                                disable_tqdm=True))  # fmt: skip
            trainer.train()
        return seen, [line for line in trainer.state.log_history if "reward" in line]

    def test_rewards_are_the_servers(self):
        texts = [reply(self.good["point"]), reply(self.slow["point"]), "", "nothing"]
        seen, log = self.train(texts, steps=2)
        self.assertEqual(len(log), 2)
        (expected,) = {tuple(rewards) for rewards in seen}
        self.assertGreater(expected[0], expected[1])
        self.assertGreater(expected[1], expected[2])
        for line in log:
            self.assertAlmostEqual(line["reward"], sum(expected) / 4, places=4)
            self.assertGreater(line["reward_std"], 0)
            self.assertAlmostEqual(line["passed"], 0.5)

    def test_what_could_not_be_measured_is_left_out(self):
        unknown = dict(self.good["point"], config={**self.good["point"]["config"], "unroll": 1})
        if any(row["point"] == unknown for row in self.rows):
            self.fail("the test needs a legal point that was not recorded")
        texts = [reply(self.good["point"]), reply(self.slow["point"]), reply(unknown)] + [""]
        seen, log = self.train(texts, steps=1)
        self.assertIsNone(seen[0][2])
        rest = [value for value in seen[0] if value is not None]
        self.assertAlmostEqual(log[0]["reward"], sum(rest) / 3, places=4)
        self.assertAlmostEqual(log[0]["unmeasured"], 0.25)

        seen, _ = self.train(texts, steps=1, unmeasured=-1.0)  # or it has a price, on a recording
        self.assertEqual(seen[0][2], -1.0)


class Asked(unittest.TestCase):
    def test_a_replys_likelihood_is_that_of_its_tokens_and_its_end(self):
        """Whatever the tokenizer, and however the replies are dealt into batches."""
        torch.manual_seed(1)
        tokenizer, prompt, texts = byte_tokenizer(), "a b\n", ["x", "{ 1,  2 }", "long " * 9, "", "y"]
        model = LlamaForCausalLM(
            LlamaConfig(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32,
                        num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64))  # fmt: skip
        expected = []
        for text in texts:
            words = tokenizer(prompt + text)["input_ids"] + [tokenizer.eos_token_id]
            with torch.no_grad():
                likely = model(torch.tensor([words])).logits[0].log_softmax(-1)
            expected.append(sum(likely[at - 1, words[at]].item() for at in range(len(prompt), len(words))))
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            asked = policy.Policy(folder)
            for most in (policy.MOST_TOKENS, 100, 1):
                with mock.patch.object(policy, "MOST_TOKENS", most):
                    for one, other in zip(asked.log_likelihood(prompt, texts), expected, strict=True):
                        self.assertAlmostEqual(one, other, places=3)


    def test_the_best_is_the_recordings_where_the_rows_are_a_part_of_it(self):
        """Rows of `train data` leave near-duplicates out, perhaps the best kernel too."""
        corpus = Corpus({}, {SHAPE: {"b": 1.0}}, [], whole={SHAPE: {"a": 2.0, "b": 1.0}})
        model = mock.Mock(write=lambda prompts: ["b"] * len(prompts), order=lambda *_: [1, 0])
        passed = {"outcome": "passed", "ratio": 1.0, "reward": 1.0}
        judge = mock.Mock(rewards=lambda asked: [dict(passed) for _ in asked])
        options = mock.Mock(gpu=False, samples=2)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(samples, "Policy", lambda *_: model):
            path = Path(folder, "samples-1.csv")
            samples.write(path, Path(folder), corpus, judge, options, 1, "stage 1")
            (row,) = csv.DictReader(path.read_text().splitlines())
        self.assertEqual((row["share_of_best"], row["evaluations_99"]), ("0.5", "2"))


class Cheats(unittest.TestCase):
    def test_no_form_of_the_reward_pays_one_or_lets_its_neighbour_pay(self):
        spaces = {shape: {text_of({"family": row["point"]["family"], "values": row["point"]["config"]}):
                          row["ratio"] for row in points(shape)} for shape in SHAPES[:2]}  # fmt: skip
        with serving() as url, tempfile.TemporaryDirectory() as folder:
            for form in ("raw", "eq3", "smoothed", "ordinal", "log"):
                judge = Judge(url, reward={"form": form})
                self.addCleanup(judge.close)
                canary = Canary(judge, spaces, 1, Path(folder, "canary.csv"))
                self.assertEqual([canary.ask() for _ in range(3)], [0, 0, 0], form)

    def test_a_cheat_that_is_paid_ends_the_run_with_its_name_on_file(self):
        paid = {"outcome": "passed", "reward": 2.0}
        judge = mock.Mock(rewards=lambda asked: [dict(paid) for _ in asked])
        spaces = {shape: {text_of({"family": "tiny", "values": {"unroll": 2}}): 1.0} for shape in "ab"}
        with tempfile.TemporaryDirectory() as folder:
            canary = Canary(judge, spaces, 1, Path(folder, "canary.csv"))
            control = mock.Mock(should_training_stop=False)
            canary.on_step_end(None, mock.Mock(global_step=3), control)
            self.assertTrue(control.should_training_stop)
            with self.assertRaisesRegex(SystemExit, "paid at step 3.*canary.csv"):
                canary.on_train_end(None, None, control)
            self.assertIn("1,a tile of nothing,1,1,1", canary.path.read_text())


SHAPES = ("64x64x64", "128x128x128", "64x64x1024", "256x256x256", "512x512x512", "4096x64x64")


class Gate:
    """The way to a server, which closes after so many requests for rewards."""

    def __init__(self, url: str):
        address, self.left = url.removeprefix("http://"), 10**9

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(handler):
                body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
                self.left -= handler.path == "/v1/reward"
                if self.left < 0:
                    handler.close_connection = True
                    return
                way = HTTPConnection(address, timeout=60)
                way.request(handler.command, handler.path, body, dict(handler.headers))
                answer = way.getresponse()
                text = answer.read()
                handler.send_response(answer.status)
                handler.send_header("Content-Length", str(len(text)))
                handler.end_headers()
                handler.wfile.write(text)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Run(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.log = self.folder / "out/seed-1/log.txt"

    def rows(self, shapes):
        """Rows of `train data` as far as the run reads them."""
        with (self.folder / "rows.jsonl").open("w") as file:
            for shape in shapes:
                m, n, k = (int(size) for size in shape.split("x"))
                for row in points(shape):
                    point = {"family": row["point"]["family"], "values": row["point"]["config"]}
                    where = {"m": m, "n": n, "k": k, "layout": "TN", "dtype": "f16"}
                    file.write(json.dumps({"kind": "variant", "point": point, "shape": where,
                                           "measured": {"ratio": row["ratio"]}}) + "\n")  # fmt: skip

    def run_it(self, seconds: int, *more) -> int:
        command = [sys.executable, "-W", "ignore", CHECKOUT / "examples/train/run.py", "--data",
                   self.folder / "rows.jsonl", "--out", self.folder / "out", "--program", PROGRAM,
                   "--device", "recorded", "--seeds", 1, "--max-seconds", seconds, "--width", 32,
                   "--layers", 1, "--stage1-steps", 4, "--steps", 8, "--group", 4, "--prompts", 2,
                   "--samples", 4, *more]  # fmt: skip
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 75), done.stdout + done.stderr +
                      (self.log.read_text() if self.log.exists() else ""))  # fmt: skip
        return done.returncode

    def table(self, name: str) -> list[dict]:
        with (self.folder / "out" / name).open() as file:
            return list(csv.DictReader(line for line in file if not line.startswith("#")))

    def test_a_run_goes_on_after_its_end_of_time_and_after_its_servers_end(self):
        self.rows(SHAPES)
        self.assertEqual(self.run_it(4), 75)
        self.assertTrue(list(self.folder.glob("out/seed-1/copying/checkpoint-*")))
        with serving() as url:
            gate = Gate(url)
            gate.left = len(SHAPES) + 6 * 3  # an evaluation, and six steps with the canary's two
            self.assertEqual(self.run_it(600, "--judge", gate.url, "--patience", 1), 75)
            self.assertIn("goes on from the last checkpoint", self.log.read_text())
            self.assertTrue(list(self.folder.glob("out/seed-1/learning/checkpoint-5")))
            gate.left = 10**9
            self.assertEqual(self.run_it(600, "--judge", gate.url), 0)
        self.assertEqual([row["step"] for row in self.table("steps.csv")], list("12345678"))
        samples = self.table("samples.csv")
        self.assertEqual({row["after"] for row in samples}, {"stage 1", "RL"})
        self.assertEqual({row["shape"] for row in samples}, set(SHAPES))
        canary = self.table("canary.csv")
        self.assertGreater(sum(int(row["asked"]) for row in canary), 60)
        self.assertEqual(sum(int(row["paid"]) for row in canary), 0)
        card = (self.folder / "out/MODEL_CARD.md").read_text()
        self.assertIn("On shapes that it never saw", card)

        self.rows(SHAPES[:3])  # a checkpoint of another tokenizer
        self.assertEqual(self.run_it(600), 75)
        self.assertRegex(self.log.read_text(), r"its \d+ words are not the \d+ of this data")


if __name__ == "__main__":
    unittest.main()
