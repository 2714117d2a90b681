"""verifiers' own NeMo Gym client (what prime-rl uses) plays an episode against the server."""

import asyncio
import types
import unittest

from serving import TASK, points, reply, serving

import verifiers.v1.tasksets.nemo_gym.taskset as nemo_gym
from verifiers.v1.tasksets.nemo_gym import NeMoGymData, NeMoGymTask, NeMoGymTaskConfig
from verifiers.v1.tasksets.nemo_gym.toolset import NeMoGymState

ROW = {"task": TASK, "responses_create_params": {"input": [{"role": "user", "content": "Write."}]}}


class Trace:
    """The part of a trace that the task reads and writes."""

    def __init__(self):
        self.state, self.info, self.metrics = NeMoGymState(), {}, {}

    def record_metric(self, name, value):
        self.metrics[name] = value


def response_of(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "role": "assistant", "status": "completed", "content": content}
    return {"id": "r", "object": "response", "output": [message]}


class NeMoGym(unittest.TestCase):
    def play(self, text):
        task = NeMoGymTask(NeMoGymData(name="t", prompt=[], row=ROW),
                           NeMoGymTaskConfig(resources_url=self.url))  # fmt: skip
        trace = Trace()
        nemo_gym.trace_to_nemo_response = lambda *_: response_of(text)

        async def episode():
            await task.setup(trace, types.SimpleNamespace())
            return await task.nemo_gym(trace)

        return asyncio.run(episode()), trace

    def setUp(self):
        server = serving()
        self.url = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)

    def test_an_episode_gets_its_reward_and_its_numbers(self):
        rows = points()
        good, trace = self.play(reply(rows[0]["point"]))
        slow, _ = self.play(reply(rows[-1]["point"]))
        self.assertGreater(good, slow)
        self.assertAlmostEqual(trace.metrics["ratio"], rows[0]["ratio"], places=4)
        self.assertFalse(trace.info["nemo_gym"]["mask_sample"])
        self.assertEqual(trace.info["nemo_gym"]["task"], TASK)

    def test_what_could_not_be_measured_is_masked(self):
        point = points()[0]["point"]
        unknown = dict(point, config={**point["config"], "unroll": 1})
        reward, trace = self.play(reply(unknown))
        self.assertEqual(reward, 0.0)
        self.assertTrue(trace.info["nemo_gym"]["mask_sample"])


if __name__ == "__main__":
    unittest.main()
