"""OpenRLHF's own single-turn executor asks the server for rewards, with the token in its URL.

Its module is loaded without the package around it, whose import needs deepspeed and a GPU.
"""

import asyncio
import logging
import sys
import tempfile
import types
import unittest
from importlib.metadata import distribution
from pathlib import Path

from serving import TASK, points, reply, serving

folder = distribution("openrlhf").locate_file("openrlhf")
for name, path in (("openrlhf", folder), ("openrlhf.utils", folder / "utils")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(path)]
from openrlhf.utils.agent import SingleTurnAgentExecutor  # noqa: E402


class Ids(list):
    tolist = list.copy


class Letters:
    def __call__(self, text, **_):
        return {"input_ids": [Ids(map(ord, text))]}

    def decode(self, ids, **_):
        return "".join(map(chr, ids))


class Engine:
    """What vLLM would be: it answers with a text that the test chose."""

    def __init__(self, text):
        self.text = text

    async def generate(self, *_, **__):
        output = types.SimpleNamespace(token_ids=list(map(ord, self.text)), text=self.text,
                                       finish_reason="stop", logprobs=None)  # fmt: skip
        return types.SimpleNamespace(outputs=[output])


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


if __name__ == "__main__":
    unittest.main()
