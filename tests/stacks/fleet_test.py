"""A fleet of judges on a Ray cluster of several nodes, all of them on this machine's CPU."""

import asyncio
import json
import os
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from fleet_world import FleetWorld
from serving import TASK, candidate, points, reply

from warpsmith_fleet.ingress import Ingress, goes_together
from warpsmith_fleet.ledger import Ledger
from warpsmith_fleet.worker import Child, Worker
from warpsmith_rewards import Judge, Refused


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = FleetWorld(nodes=2)
        cls.addClassCleanup(cls.world.close)
        cls.judge = cls.world.judge
        cls.rows = points()

    def jobs(self, rows):
        body = {"task": TASK, "candidates": [candidate(row["point"]) for row in rows]}
        return self.judge.request("POST", "/v1/jobs", body)["keys"]

    def answers(self, keys):
        """The jobs' answers, polled until each is done."""
        done = {}
        while len(done) < len(set(keys)):
            left = [key for key in dict.fromkeys(keys) if key not in done]
            found = self.judge.request("GET", f"/v1/jobs?keys={','.join(left[:50])}&wait=20")
            done |= {job["key"]: job for job in found["jobs"] if job["state"] == "done"}
        return [done[key] for key in keys]

    def test_rewards_are_those_of_one_server_in_order(self):
        texts = [reply(row["point"]) for row in self.rows[:40]]
        answers = self.judge.rewards([{"task": TASK, "completion": text} for text in texts])
        for row, answer in zip(self.rows, answers):
            self.assertAlmostEqual(answer["ratio"], row["ratio"], places=4)

    def test_requests_that_meet_in_line_keep_their_answers(self):
        def ask(row):
            sample = {"task": row.get("task", TASK), "completion": reply(row["point"])}
            try:
                return self.judge.request("POST", "/v1/reward", {"samples": [sample]})["rewards"]
            except Refused as refused:
                return str(refused)

        rows = self.rows[200:216] + [{"point": self.rows[0]["point"], "task": "no such task"}]
        with ThreadPoolExecutor(len(rows)) as clients:
            *answers, refused = clients.map(ask, rows)
        for row, (answer,) in zip(rows, answers):
            self.assertAlmostEqual(answer["ratio"], row["ratio"], places=4)
        self.assertIn("no such task", refused)

    def test_equal_jobs_share_a_key_and_an_answer(self):
        keys = self.jobs(self.rows[:10] + self.rows[:10])
        self.assertEqual(keys[:10], keys[10:])
        answers = self.answers(keys)
        self.assertEqual({job["verdict"]["outcome"] for job in answers}, {"passed"})
        self.assertEqual(self.answers(self.jobs(self.rows[:10])), answers[:10])

    def test_judges_and_nodes_that_are_killed_lose_no_job(self):
        keys = self.jobs(self.rows[10:100])
        for pid in self.world.judges():
            os.kill(pid, signal.SIGKILL)
        keys += self.jobs(self.rows[100:200])
        self.world.remove_node()
        self.world.add_node()
        answers = self.answers(keys)
        self.assertEqual({job["verdict"]["outcome"] for job in answers}, {"passed"})

    def test_a_token_is_asked_for_and_a_wrong_request_is_told(self):
        with self.assertRaisesRegex(Refused, "401"):
            Judge(self.world.url, patience_s=5).tasks()
        token = self.world.token
        self.assertTrue(Judge(f"{self.world.url}/t/{token}", patience_s=5).tasks())
        for path in ("/v1/jobs", "/v1/reward"):
            with self.assertRaisesRegex(Refused, "400"):
                self.judge.request("POST", path, {"nothing": 1})
        with self.assertRaisesRegex(Refused, "400"):
            self.judge.rewards([{"task": "no such task", "completion": ""}])

    def test_the_other_dialects_go_through(self):
        good = reply(self.rows[0]["point"])
        body = {"query": [good], "prompts": [""], "labels": [TASK]}
        answer = self.judge.request("POST", "/get_reward", body)
        self.assertAlmostEqual(answer["extra_logs"]["ratio"], self.rows[0]["ratio"], places=4)
        self.assertEqual(self.judge.request("POST", "/seed_session", {"task": TASK}), {})


class Mortal(Worker.func_or_class):
    """Its child judges one candidate of a call, then it dies; over "bad" it dies at once."""

    def __init__(self):
        super().__init__("", [], limit_s=1)
        self._child = self
        self.name, self.judged, self.is_alive, self.stuck = 0, [], True, False

    async def kill(self):
        self.name += 1

    async def _once(self, method, path, body, limit_s):
        if method == "POST":
            self.line, self.ends = json.loads(body)["candidates"], False
            return {"status": 202, "body": json.dumps({"keys": self.line})}
        if path == "/healthz":
            return {"status": 200, "body": b""}
        line = self.line
        if self.ends or line[0] == "bad":
            raise OSError("it died")
        self.ends = True
        self.judged.append(line[0])
        jobs = [{"key": key, "state": "running" if at else "done"} for at, key in enumerate(line)]
        return {"status": 200, "body": json.dumps({"jobs": jobs})}


class JudgesThatDie(unittest.IsolatedAsyncioTestCase):
    async def test_what_a_judge_said_before_it_died_is_kept_and_only_the_rest_goes_on(self):
        judge = Mortal()
        workers = SimpleNamespace(ask=SimpleNamespace(remote=judge.ask))
        fleet = Ingress.func_or_class(workers, ":memory:", None, 99, 8, 1)
        names = ["a", "b", "bad", "c", "d", "e"]
        keys = json.loads(fleet._accept({"task": "t", "candidates": names}).body)["keys"]
        await asyncio.wait_for(asyncio.gather(*fleet._calls.values()), 20)
        answers = [fleet._ledger.find(key) for key in keys]
        blamed = [name for name, answer in zip(names, answers) if "verdict" in answer]
        self.assertEqual((blamed, fleet._counts["blamed"]), (["bad"], 1))
        self.assertEqual(judge.judged, ["a", "b", "c", "d", "e"])

    async def test_a_judge_that_is_killed_while_it_starts_is_no_wrong_program(self):
        killed, wrong = (Child(["sh", "-c", end]) for end in ("kill -9 $$", "exit 3"))
        await killed.start()
        self.assertFalse(killed.is_alive)
        with self.assertRaisesRegex(RuntimeError, "exit 3.*expected its address"):
            await wrong.start()


class TheLine(unittest.TestCase):
    def test_a_call_takes_what_is_alike_and_no_group_twice(self):
        def place(name, size=1, group=None, **common):
            return {**common, "samples": [{"task": "t", "group": group}] * size}, name

        line = [place("a", group="1"), place("b", level="certified"), place("c", group="1"),
                place("d", group="2", size=6), place("e"), place("f"), place("g")]  # fmt: skip
        taken, left = goes_together(line, room=8)
        self.assertEqual([name for _, name in taken], ["a", "d", "e"])
        self.assertEqual([name for _, name in left], ["b", "c", "f", "g"])
        taken, left = goes_together([place("large", size=20), place("h")], room=8)
        self.assertEqual([name for _, name in taken + left], ["large", "h"])
        self.assertEqual(len(taken), 1)


class TheLedger(unittest.TestCase):
    def test_the_first_answer_stays(self):
        ledger = Ledger(":memory:")
        ledger.accept({"a": {"n": 1}, "b": {"n": 2}})
        self.assertEqual(ledger.settle("a", {"x": 1}), {"x": 1})
        self.assertEqual(ledger.settle("a", {"x": 2}), {"x": 1})
        ledger.accept({"a": {"n": 3}})
        self.assertEqual(ledger.unfinished(), [("b", {"n": 2})])
        self.assertEqual(json.dumps(ledger.find("b")), "null")


if __name__ == "__main__":
    unittest.main()
