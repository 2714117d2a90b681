"""OpenRLHF's own single-turn executor asks the server for rewards, with the token in its URL; its
own command line reads the recipe; with torch, its own advantage and loss train a policy.

Its modules are loaded without the package around them, whose import needs deepspeed and a GPU.
"""

import asyncio
import importlib.util
import json
import logging
import os
import runpy
import subprocess
import sys
import tempfile
import types
import unittest
from importlib.metadata import distribution
from pathlib import Path
from unittest import mock

from serving import CHECKOUT, TASK, arguments_of, points, reply, serving

HAS_TORCH = importlib.util.find_spec("torch") is not None
folder = distribution("openrlhf").locate_file("openrlhf")
for name in ("", "datasets", "utils", "models", "trainer", "trainer.ppo_utils"):
    package = types.ModuleType(".".join(filter(None, ("openrlhf", name))))
    package.__path__ = [str(Path(folder, *name.split(".")))]
    sys.modules[package.__name__] = package
from openrlhf.utils.agent import SingleTurnAgentExecutor  # noqa: E402


class Ids(list):
    tolist = list.copy


class Letters:
    def __call__(self, text, **_):
        return {"input_ids": [Ids(map(ord, text))]}

    def decode(self, ids, **_):
        return "".join(map(chr, ids))


class Engine:
    """What vLLM would be: it answers with texts that the test chose."""

    def __init__(self, *texts):
        self.texts = list(texts)

    async def generate(self, *_, **__):
        text = self.texts.pop(0)
        output = types.SimpleNamespace(token_ids=list(map(ord, text)), text=text,
                                       finish_reason="stop", logprobs=None)  # fmt: skip
        return types.SimpleNamespace(outputs=[output])


class Parsed(Exception):
    """What the command line came to."""


def parsed(arguments: list[str]):
    """The recipe as OpenRLHF's command line reads and checks it, before it starts anything."""

    def stop(args):
        raise Parsed(args)

    absent = ("ray", "ray.util", "ray.util.placement_group", "openrlhf.trainer.ray",
              "openrlhf.trainer.ray.launcher", "openrlhf.trainer.ray.ppo_actor",
              "openrlhf.trainer.ray.ppo_critic")  # fmt: skip
    stubs = {name: mock.MagicMock() for name in absent}
    with mock.patch.dict(sys.modules, stubs), mock.patch.object(sys, "argv", ["x", *arguments]):
        with mock.patch.object(sys.modules["openrlhf.utils"], "get_strategy", stop, create=True):
            try:
                runpy.run_path(str(Path(folder, "cli", "train_ppo_ray.py")), run_name="__main__")
            except Parsed as end:
                return end.args[0]
    raise AssertionError("the command line ended without a run")


class OpenRlhf(unittest.TestCase):
    def reward_of(self, text):
        executor = SingleTurnAgentExecutor(f"{self.url}/t/0123456789abcdef/get_reward")
        limits = types.SimpleNamespace(max_tokens=1000, logprobs=None)
        return asyncio.run(
            executor.execute("Write a kernel.\n", TASK, limits, 4000, Letters(), Engine(text))
        )

    def setUp(self):
        logging.getLogger("openrlhf").setLevel(logging.ERROR)
        with tempfile.NamedTemporaryFile("w", delete=False) as token:
            token.write("0123456789abcdef\n")
        self.addCleanup(Path(token.name).unlink)
        server = serving("--token-file", token.name)
        self.url = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)

    def test_rewards_are_numbers_in_the_order_of_speed(self):
        rows = points()
        good = self.reward_of(reply(rows[0]["point"]))
        slow = self.reward_of(reply(rows[-1]["point"]))
        nothing = self.reward_of("I do not know.")
        for result in (good, slow, nothing):
            self.assertIsInstance(result["reward"], float)
            self.assertEqual(result["reward"], result["scores"])
        self.assertGreater(good["reward"], slow["reward"])
        self.assertGreater(slow["reward"], nothing["reward"])
        self.assertAlmostEqual(good["extra_logs"]["ratio"], rows[0]["ratio"], places=4)

    def test_turns_with_the_verdict_between_them(self):
        rows = points()
        texts = ["I do not know.", reply(rows[-1]["point"]), reply(rows[0]["point"])]
        settings = {"WARPSMITH_JUDGE": f"{self.url}/t/0123456789abcdef", "WARPSMITH_TURNS": "3",
                    "WARPSMITH_TURN_FORMAT": "\n<<{verdict}>>\n"}  # fmt: skip
        limits = types.SimpleNamespace(max_tokens=1000, logprobs=None)
        agent = runpy.run_path(str(CHECKOUT / "python/warpsmith_rewards/openrlhf.py"))
        with mock.patch.dict(os.environ, settings):
            done = asyncio.run(agent["AgentExecutor"]().execute(
                "Write a kernel.\n", TASK, limits, 9000, Letters(), Engine(*texts)))  # fmt: skip
        best = self.reward_of(texts[-1])["reward"]
        self.assertAlmostEqual(done["reward"], best)
        self.assertEqual(done["scores"], best)
        whole = Letters().decode(done["observation_tokens"])
        self.assertEqual([whole[slice(*part)] for part in done["action_ranges"]], texts)
        self.assertIn("<<The judge says: ", whole)
        self.assertIn("passed, screened", whole)
        self.assertEqual(done["extra_logs"]["passed"], 1.0)

    @unittest.skipUnless(HAS_TORCH, "needs torch")
    def test_rows_of_prompts_are_a_data_set_that_openrlhf_reads(self):
        from openrlhf.datasets.prompts_dataset import preprocess_data

        args = self.recipe()
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder, "train.jsonl")
            command = [sys.executable, CHECKOUT / "examples/train/prompts.py", "--judge", self.url]
            token = Path(folder, "token")
            token.write_text("0123456789abcdef\n")
            subprocess.run([*command, "--token-file", token, "--tasks", TASK, "--count", "1",
                            "-o", rows], check=True)  # fmt: skip
            (row,) = map(json.loads, rows.read_text().splitlines())
        prompt, label = preprocess_data(row, None, args.data.input_key, args.data.label_key,
                                        lambda chat, **_: chat[0]["content"])  # fmt: skip
        self.assertIn("# Task: hgemm-TN", prompt)
        self.assertEqual(label.partition("#")[0], TASK)

    def recipe(self, *more):
        url = f"{self.url}/t/0123456789abcdef/get_reward"
        return parsed([*arguments_of("openrlhf.sh", MODEL="m", TRAIN="t", JUDGE=url), *more])

    def test_the_recipe_is_a_command_line_that_openrlhf_takes(self):
        args = self.recipe()
        self.assertGreater(args.algo.kl.init_coef, 0)
        self.assertTrue(args.algo.kl.use_loss and args.ckpt.load_enable)
        self.assertTrue(args.reward.remote_url[0].startswith(self.url))

    @unittest.skipUnless(HAS_TORCH, "needs torch")
    def test_the_recipes_advantage_and_loss_teach_the_better_kernel(self):
        import torch
        from one_word import OneWord

        stubs = {name: mock.MagicMock() for name in ("ray", "deepspeed", "openrlhf.trainer.ray",
                                                     "openrlhf.trainer.ray.launcher")}  # fmt: skip
        with mock.patch.dict(sys.modules, stubs):
            from openrlhf.models.loss import PolicyLoss
            from openrlhf.models.utils import compute_approx_kl
            from openrlhf.trainer.ppo_utils.experience import Experience
            from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker
        rows = points()
        texts = [reply(rows[0]["point"]), reply(rows[-1]["point"]), "nothing"]
        for estimator in ("group_norm", "rloo"):
            args = self.recipe("--algo.advantage.estimator", estimator)
            maker = RemoteExperienceMaker.__new__(RemoteExperienceMaker)
            maker.strategy = types.SimpleNamespace(args=args)
            maker.advantage_estimator = args.algo.advantage.estimator
            maker.kl_ctl = types.SimpleNamespace(value=0.0)  # the recipe has KL in the loss
            policy, loss_of = OneWord(texts), PolicyLoss(*args.actor.eps_clip_low_high)
            for _ in range(8):
                drawn = policy.draw(args.rollout.n_samples_per_prompt)
                rewards = [self.reward_of(texts[number])["reward"] for number in drawn[:, 0]]
                now = policy.log_probabilities()[drawn]
                mask = torch.ones_like(now)
                batch = Experience(sequences=drawn, action_mask=mask, kl=torch.zeros_like(now),
                                   rewards=torch.tensor(rewards), info={},
                                   response_length=mask.sum(1), index=list(range(len(drawn))))  # fmt: skip
                (batch,) = maker.compute_advantages_and_returns([batch])
                loss = loss_of(now, now.detach(), batch.advantages, mask)[0]
                divergence = compute_approx_kl(now, policy.before[drawn],
                                               kl_estimator=args.algo.kl.estimator)  # fmt: skip
                policy.learn(loss + args.algo.kl.init_coef * divergence.mean())
            gained = policy.log_probabilities() - policy.before
            self.assertGreater(gained[0].item(), 0.2)
            self.assertLess(gained[2].item(), 0)


if __name__ == "__main__":
    unittest.main()
