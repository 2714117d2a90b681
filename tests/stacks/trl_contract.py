"""TRL's own GRPOTrainer takes its rewards from the server: a model made on the spot, two steps. And
examples/train/run.py trains, stops, goes on and says what came of it."""

import csv
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from serving import CHECKOUT, PROGRAM, TASK, points, reply, serving

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from warpsmith_rewards import Judge
from warpsmith_rewards.trl import reward_function


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """256 bytes and an end, no merges: made here, so nothing is downloaded."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(["<end>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>",
                                   pad_token="<end>", padding_side="left")  # fmt: skip


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


SHAPES = ("64x64x64", "128x128x128", "64x64x1024", "256x256x256", "512x512x512", "4096x64x64")


class Run(unittest.TestCase):
    def rows(self, path: Path):
        """Rows of `train data` as far as the run reads them."""
        with path.open("w") as file:
            for shape in SHAPES:
                m, n, k = (int(size) for size in shape.split("x"))
                for row in points(shape):
                    point = {"family": row["point"]["family"], "values": row["point"]["config"]}
                    where = {"m": m, "n": n, "k": k, "layout": "TN", "dtype": "f16"}
                    file.write(json.dumps({"kind": "variant", "point": point, "shape": where,
                                           "measured": {"ratio": row["ratio"]}}) + "\n")  # fmt: skip

    def run_it(self, folder: Path, seconds: int) -> int:
        command = [sys.executable, "-W", "ignore", CHECKOUT / "examples/train/run.py", "--data",
                   folder / "rows.jsonl", "--out", folder / "out", "--program", PROGRAM, "--device",
                   "recorded", "--seeds", 1, "--max-seconds", seconds, "--width", 32, "--layers", 1,
                   "--stage1-steps", 4, "--steps", 3, "--group", 4, "--prompts", 2, "--samples", 4]  # fmt: skip
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        log = folder / "out/seed-1/log.txt"
        self.assertIn(done.returncode, (0, 75), done.stdout + done.stderr +
                      (log.read_text() if log.exists() else ""))  # fmt: skip
        return done.returncode

    def table(self, path: Path) -> list[dict]:
        return list(csv.DictReader(line for line in path.open() if not line.startswith("#")))

    def test_a_run_that_was_stopped_goes_on_and_no_cheat_is_paid(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.rows(folder / "rows.jsonl")
            self.assertEqual(self.run_it(folder, seconds=4), 75)
            self.assertTrue(list(folder.glob("out/seed-1/copying/checkpoint-*")))
            self.assertEqual(self.run_it(folder, seconds=600), 0)
            out = folder / "out"
            self.assertEqual([row["step"] for row in self.table(out / "steps.csv")], ["1", "2", "3"])
            samples = self.table(out / "samples.csv")
            self.assertEqual({row["after"] for row in samples}, {"stage 1", "RL"})
            self.assertEqual({row["shape"] for row in samples}, set(SHAPES))
            canary = self.table(out / "canary.csv")
            self.assertGreater(sum(int(row["asked"]) for row in canary), 60)
            self.assertEqual(sum(int(row["paid"]) for row in canary), 0)
            self.assertIn("On shapes that it never saw", (out / "MODEL_CARD.md").read_text())


if __name__ == "__main__":
    unittest.main()
