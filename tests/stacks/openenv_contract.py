"""OpenEnv's own server and client carry the environment: reset, two turns, and a wrong task."""

import socket
import threading
import time
import unittest

from serving import TASK, points, reply, serving

import uvicorn
from openenv.core import GenericEnvClient
from openenv.core.env_server import create_fastapi_app

from warpsmith_rewards import Judge
from warpsmith_rewards.openenv import KernelEnvironment, Reply, Verdict


class OpenEnv(unittest.TestCase):
    def setUp(self):
        server = serving()
        judge = Judge(server.__enter__())
        self.addCleanup(server.__exit__, None, None, None)
        self.addCleanup(judge.close)
        app = create_fastapi_app(lambda: KernelEnvironment(judge, turns=2), Reply, Verdict,
                                 max_concurrent_envs=4)  # fmt: skip
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % listener.getsockname()[1]
        web = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=web.run, args=([listener],), daemon=True)
        thread.start()
        while not web.started:
            time.sleep(0.01)
        self.addCleanup(thread.join)
        self.addCleanup(setattr, web, "should_exit", True)

    def test_an_episode_of_two_turns(self):
        rows = points()
        with GenericEnvClient(base_url=self.url).sync() as client:
            first = client.reset(task=TASK)
            self.assertEqual(first.observation["task"], TASK)
            slow = client.step({"completion": reply(rows[-1]["point"])})
            self.assertFalse(slow.done)
            good = client.step({"completion": reply(rows[0]["point"])})
            self.assertTrue(good.done)
            self.assertGreater(good.reward, slow.reward)
            self.assertEqual(good.observation["outcome"], "passed")

    def test_what_could_not_be_measured_has_no_reward(self):
        point = points()[0]["point"]
        unknown = dict(point, config={**point["config"], "unroll": 1})
        with GenericEnvClient(base_url=self.url).sync() as client:
            client.reset(task=TASK)
            self.assertIsNone(client.step({"completion": reply(unknown)}).reward)

    def test_a_wrong_task_is_told(self):
        with GenericEnvClient(base_url=self.url).sync() as client:
            with self.assertRaisesRegex(Exception, "knows no task"):
                client.reset(task="no such task")


if __name__ == "__main__":
    unittest.main()
