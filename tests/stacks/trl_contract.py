"""TRL's own GRPOTrainer takes its rewards from the server: a model made on the spot, two steps."""

import tempfile
import unittest

from serving import TASK, points, reply, serving

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

    def train(self, completions, steps):
        """The trainer's log of `steps` steps in which the policy's words are replaced by these."""
        torch.manual_seed(1)
        tokenizer = byte_tokenizer()
        model = LlamaForCausalLM(
            LlamaConfig(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32,
                        num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=64,
                        eos_token_id=0, pad_token_id=0))  # fmt: skip
        ours, seen = reward_function(self.judge), []

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


if __name__ == "__main__":
    unittest.main()
