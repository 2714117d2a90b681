"""verl's own loader and reward managers call compute_score, with and without a broken server."""

import asyncio
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from serving import CHECKOUT, TASK, arguments_of, points, reply, serving

import hydra
import numpy as np
import torch
from omegaconf import OmegaConf
from one_word import OneWord, byte_tokenizer
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import DictConfigWrap
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager

from verl.utils.dataset.rl_dataset import RLHFDataset
from verl.utils.config import omega_conf_to_dataclass, validate_config
from verl.workers.rollout.replica import TokenOutput
from warpsmith_rewards import Judge, Refused


class Letters:
    """A tokenizer whose tokens are the letters' numbers."""

    def decode(self, ids, skip_special_tokens=True):
        return "".join(chr(int(number)) for number in ids)


def settings(manager, **reward_kwargs):
    function = {"path": "pkg://warpsmith_rewards.verl", "name": "compute_score",
                "reward_kwargs": reward_kwargs}  # fmt: skip
    reward = {"custom_reward_function": function, "timeout": 60, "max_concurrent": 8,
              "reward_manager": {"source": "register", "name": manager}}  # fmt: skip
    return OmegaConf.create({"reward": reward, "data": {"reward_fn_key": "data_source"}})


def sample(text, truth=TASK, **told):
    numbers = torch.tensor([[ord(letter) for letter in text]])
    batch = {"prompts": torch.zeros(1, 1, dtype=torch.long), "responses": numbers,
             "attention_mask": torch.ones(1, 1 + numbers.shape[1], dtype=torch.long)}  # fmt: skip
    others = {"data_source": "kernels", "reward_model": {"ground_truth": truth}, "extra_info": told}
    return DataProto.from_dict(
        tensors=batch,
        non_tensors={name: np.array([value], dtype=object) for name, value in others.items()},
    )


def score(config, texts, **rest):
    async def run():
        manager = load_reward_manager(config, Letters())
        return await asyncio.gather(*(manager.run_single(sample(text, **rest)) for text in texts))

    return asyncio.run(run())


class Engine:
    """What vLLM would be: it answers with texts that the test chose."""

    def __init__(self, tokenizer, texts):
        self.tokenizer, self.texts, self.read = tokenizer, list(texts), []

    async def generate(self, *, request_id, prompt_ids, sampling_params):
        self.read.append(self.tokenizer.decode(prompt_ids))
        words = self.tokenizer(self.texts.pop(0))["input_ids"]
        return TokenOutput(token_ids=words, log_probs=[-1.0] * len(words))


class Verl(unittest.TestCase):
    def setUp(self):
        rows = points()
        self.good, self.slow = rows[0]["point"], rows[-1]["point"]
        self.unknown = dict(self.good, config={**self.good["config"], "unroll": 1})
        server = serving()
        self.url = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)

    def test_every_manager_that_takes_async_functions_gets_the_servers_reward(self):
        texts = [reply(self.good), reply(self.slow), "nothing"]
        for manager in ("naive", "rate_limited"):
            good, slow, none = score(settings(manager, url=self.url), texts)
            self.assertGreater(good["reward_score"], slow["reward_score"])
            self.assertGreater(slow["reward_score"], none["reward_score"])
            extra = good["reward_extra_info"]
            self.assertEqual((extra["outcome"], extra["passed"]), ("passed", 1.0))
            self.assertEqual(extra.keys(), none["reward_extra_info"].keys())

    def test_what_could_not_be_measured_stops_the_run_or_scores_what_was_said(self):
        with self.assertRaisesRegex(Exception, "could not be measured"):
            score(settings("naive", url=self.url, tries=1), [reply(self.unknown)])
        config = settings("naive", url=self.url, tries=1, unmeasured=0.75)
        (result,) = score(config, [reply(self.unknown)])
        self.assertEqual(result["reward_score"], 0.75)
        self.assertEqual(result["reward_extra_info"]["unmeasured"], 1.0)

    def test_a_data_set_with_a_wrong_task_stops_at_once(self):
        with self.assertRaises(Refused):
            score(settings("naive", url=self.url), ["x"], truth="no such task")

    def test_rows_of_prompts_are_a_data_set_that_verl_reads(self):
        tokenizer = byte_tokenizer()
        tokenizer.chat_template = "{% for one in messages %}{{ one.content }}{% endfor %}"
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder, "train.jsonl")
            command = [sys.executable, CHECKOUT / "examples/train/prompts.py", "--judge", self.url]
            subprocess.run([*command, "--tasks", TASK, "--count", "3", "-o", rows], check=True)
            refused = subprocess.run([*command, "--tasks", "no such task", "-o", rows.with_name("x")],
                                     capture_output=True, text=True)  # fmt: skip
            data = self.recipe(f"+data.cache_dir={folder}").data
            asked = RLHFDataset(str(rows), tokenizer, data)
            self.assertEqual(len(asked), 3)
            row = asked[0]
        self.assertIn("no such task", refused.stderr)
        self.assertEqual(len(refused.stderr.splitlines()), 1)
        self.assertIn("# Task: hgemm-TN", row["raw_prompt"][0]["content"])
        truth = row["reward_model"]["ground_truth"]
        (result,) = score(settings("naive", url=self.url), [reply(self.good)], truth=truth)
        self.assertEqual(result["reward_extra_info"]["outcome"], "passed")

    def test_a_copy_of_what_the_prompt_showed_earns_no_gain(self):
        judge = Judge(self.url)
        self.addCleanup(judge.close)
        (answer,) = judge.rewards([{"task": TASK, "completion": reply(self.good)}])
        (new,) = score(settings("naive", url=self.url), [reply(self.good)])
        (copy,) = score(settings("naive", url=self.url), [reply(self.good)], shown=[answer["key"]])
        self.assertEqual(new["reward_score"], answer["reward"])
        self.assertLess(copy["reward_score"], new["reward_score"])

    def recipe(self, *more, **variables):
        """verl's own configuration with what the recipe sets, as verl checks it."""
        given = arguments_of("verl.sh", MODEL="m", TRAIN="t", HELD_OUT="h", JUDGE=self.url, **variables)
        with hydra.initialize_config_module("verl.trainer.config", version_base=None):
            config = hydra.compose("ppo_trainer", overrides=[*given, *more])
        validate_config(config, use_reference_policy=True, use_critic=False)
        return config

    def test_the_recipe_is_a_configuration_that_verl_takes(self):
        for variables in ({}, {"ENGINE": "megatron", "NODES": "8"}):
            config = self.recipe(**variables)
            self.assertGreater(config.actor_rollout_ref.actor.kl_loss_coef, 0)
            self.assertTrue(config.actor_rollout_ref.actor.use_kl_loss)
            self.assertEqual(config.trainer.resume_mode, "auto")

    def test_the_recipes_advantage_and_loss_teach_the_better_kernel(self):
        texts = [reply(self.good), reply(self.slow), "nothing"]
        for estimator in ("grpo", "rloo"):
            config = self.recipe(f"algorithm.adv_estimator={estimator}")
            actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
            advantage_of = core_algos.get_adv_estimator_fn(config.algorithm.adv_estimator)
            policy = OneWord(texts)
            for _ in range(8):
                drawn = policy.draw(config.actor_rollout_ref.rollout.n)
                results = score(config, [texts[number] for number in drawn[:, 0]])
                rewards = torch.tensor([[result["reward_score"]] for result in results])
                mask = torch.ones_like(rewards)
                advantages, _ = advantage_of(token_level_rewards=rewards, response_mask=mask,
                                             index=np.zeros(len(drawn)), config=config.algorithm)  # fmt: skip
                now = policy.log_probabilities()[drawn]
                loss, _ = core_algos.get_policy_loss_fn("vanilla")(
                    old_log_prob=now.detach(), log_prob=now, advantages=advantages,
                    response_mask=mask, loss_agg_mode=actor.loss_agg_mode, config=actor)  # fmt: skip
                divergence = core_algos.kl_penalty(now, policy.before[drawn], actor.kl_loss_type)
                self.assertTrue(torch.isfinite(divergence).all())
                policy.learn(loss + actor.kl_loss_coef * divergence.mean())
            gained = policy.log_probabilities() - policy.before
            self.assertGreater(gained[0].item(), 0.2)
            self.assertLess(gained[2].item(), 0)

    def test_turns_with_the_verdict_between_them(self):
        tokenizer = byte_tokenizer()
        tokenizer.chat_template = ("{% for one in messages %}<{{ one.role }}>{{ one.content }}"
                                   "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")  # fmt: skip
        texts = ["no kernel", reply(self.slow), reply(self.good)]
        engine, config = Engine(tokenizer, texts), self.recipe()
        row = {"raw_prompt": [{"role": "user", "content": "fast:"}],
               "reward_model": {"ground_truth": TASK}}  # fmt: skip

        async def run():
            loop = hydra.utils.instantiate(
                {"_target_": "warpsmith_rewards.verl_turns.KernelLoop", "url": self.url, "turns": 3},
                trainer_config=DictConfigWrap(config), data_config=DictConfigWrap(config.data),
                server_manager=engine, tokenizer=tokenizer, processor=None, dataset_cls=None)  # fmt: skip
            return await loop.run({}, **row)

        done = asyncio.run(run())
        best = score(settings("naive", url=self.url), [reply(self.good)])[0]["reward_score"]
        self.assertEqual(done.reward_score, best)
        self.assertAlmostEqual(sum(done.extra_fields["turn_scores"]), best)
        self.assertIn("The judge says: passed", engine.read[2])
        learned = [word for word, own in zip(done.response_ids, done.response_mask) if own]
        self.assertEqual(tokenizer.decode(learned), "".join(texts))
        self.assertEqual(len(done.response_logprobs), len(done.response_ids))

    def test_the_loader_finds_the_function(self):
        self.assertTrue(callable(get_custom_reward_fn(settings("naive", url=self.url))))


if __name__ == "__main__":
    unittest.main()
