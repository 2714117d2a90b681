"""The client of python/warpsmith_rewards against servers that behave badly, and against the real one."""

import asyncio
import contextlib
import io
import json
import socket
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

from serving import TASK, points, reply, serving

from warpsmith_rewards import Judge, Refused, Turns, Unreachable, advantages


class Scripted:
    """A server that gives the scripted answers one after the other: (status, headers, body).

    A body of None closes the connection without an answer.
    """

    def __init__(self, *answers):
        script, self.asked = list(answers), []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(handler):
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                self.asked.append((handler.path, dict(handler.headers), json.loads(body)))
                status, headers, answer = script.pop(0)
                if answer is None:
                    handler.close_connection = True
                    return
                text = json.dumps(answer).encode()
                handler.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    handler.send_header(name, value)
                handler.end_headers()
                handler.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


SAMPLE = {"task": TASK, "completion": "none"}


class Advantages(unittest.TestCase):
    def test_of_the_group_mean(self):
        values = advantages([1.0, 2.0, 3.0, 2.0, 5.0], ["a"] * 4 + ["b"])
        self.assertAlmostEqual(sum(values[:4]), 0)
        self.assertAlmostEqual(values[2], 2**0.5)
        self.assertEqual(values[4], 0, "a group of one says nothing")

    def test_leave_one_out_has_a_baseline_without_the_sample(self):
        values = advantages([1.0, 2.0, 6.0], ["a"] * 3, baseline="leave-one-out")
        self.assertEqual(values, [-3.0, -1.5, 4.5])

    def test_what_cannot_be_compared_is_worth_nothing(self):
        nan = float("nan")
        self.assertEqual(advantages([1.0, None, nan, 1.0, 1.0, 1.0], ["a"] * 6), [0.0] * 6)
        self.assertEqual(advantages([1.0, 2.0, None], ["a"] * 3), [0.0] * 3, "two are too few")
        self.assertEqual(advantages([], []), [])
        measured = advantages([1.0, None, 3.0], ["a"] * 3, baseline="leave-one-out")
        self.assertEqual(measured, [-2.0, 0.0, 2.0])

    def test_refuses_what_it_does_not_know(self):
        with self.assertRaises(ValueError):
            advantages([1.0], ["a"], baseline="median")
        with self.assertRaises(ValueError):
            advantages([1.0], [])


def answer_of(reward, **more) -> tuple:
    one = {"reward": reward, "outcome": "passed", "words": "so it went", "terms": {}, **more}
    return 200, {}, {"rewards": [one]}


class FakeClock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class WithJudge(unittest.TestCase):
    def judge(self, url, **options):
        judge = Judge(url, **options)
        self.addCleanup(judge.close)
        return judge


class TheClient(WithJudge):
    def test_asks_again_until_there_is_an_answer(self):
        busy = (429, {"Retry-After": "0"}, {"error": {"code": "busy", "message": "full"}})
        with Scripted(busy, (503, {}, {}), (200, {}, None), answer_of(0.5)) as server:
            self.assertEqual(self.judge(server.url).rewards([SAMPLE])[0]["reward"], 0.5)
        self.assertEqual(len({json.dumps(body) for _, _, body in server.asked}), 1)
        self.assertEqual(len(server.asked), 4)

    def test_does_not_repeat_what_is_refused(self):
        wrong = (400, {}, {"error": {"code": "bad-input", "message": "no such task"}})
        with Scripted(wrong) as server, self.assertRaisesRegex(Refused, "no such task"):
            self.judge(server.url).rewards([SAMPLE])

    def test_gives_up_after_its_patience_and_says_why(self):
        with Scripted(*[(503, {}, {"error": {"message": "draining"}})] * 9) as server:
            with self.assertRaisesRegex(Unreachable, "draining"):
                self.judge(server.url, patience_s=1).rewards([SAMPLE])

    def asked_on_a_fake_clock(self, *silence):
        """The server's address, and what is said until it answers."""
        said = io.StringIO()
        with Scripted(*silence, answer_of(0.5)) as server, contextlib.redirect_stderr(said):
            with mock.patch("warpsmith_rewards.time", FakeClock()):
                self.judge(server.url).rewards([SAMPLE])
        return server.url, said.getvalue()

    def test_says_once_that_it_waits_and_once_that_it_goes_on(self):
        url, said = self.asked_on_a_fake_clock(*[(200, {}, None), (502, {}, {})] * 4)
        waits, goes_on = said.splitlines()
        self.assertRegex(waits, f"the judge at {url} gives no answer .*again for 1800 s .patience_s")
        self.assertRegex(goes_on, f"the judge at {url} answers again, after [0-9]+ s")

    def test_says_nothing_of_a_short_silence(self):
        _, said = self.asked_on_a_fake_clock((200, {}, None))
        self.assertEqual(said, "")

    def test_says_that_it_waits_before_it_gives_up_on_a_closed_port(self):
        said = io.StringIO()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            url = "http://127.0.0.1:%d" % taken.getsockname()[1]
        with contextlib.redirect_stderr(said), self.assertRaises(Unreachable):
            with mock.patch("warpsmith_rewards.time", FakeClock()):
                self.judge(url, patience_s=60).tasks()
        self.assertEqual(said.getvalue().count("\n"), 1, said.getvalue())
        self.assertIn("ConnectionRefused", said.getvalue())

    def test_refuses_an_answer_that_lacks_rewards(self):
        with Scripted((200, {}, {"rewards": []})) as server, self.assertRaises(Refused):
            self.judge(server.url).rewards([SAMPLE])

    def test_refuses_a_reward_that_is_no_number(self):
        for reward in (float("nan"), float("inf")):
            with Scripted(answer_of(reward)) as server, self.assertRaisesRegex(Refused, "no number"):
                self.judge(server.url).rewards([SAMPLE])

    def test_the_gains_of_a_trajectory_are_its_best_kernels_reward(self):
        with Scripted(*map(answer_of, (-1.0, 0.5, 0.25, 2.0))) as server:
            turns = Turns(self.judge(server.url), f"{TASK}#w", 4)
            gains = [asyncio.run(turns.take("a kernel")) for _ in range(4)]
        self.assertEqual(gains, [-1.0, 1.5, 0.0, 1.5])
        self.assertEqual((turns.best, turns.is_over), (2.0, True))
        self.assertIn("so it went", turns.feedback())
        self.assertEqual({body["samples"][0]["workload"] for _, _, body in server.asked}, {"w"})

    def test_a_turn_that_cannot_be_measured_stops_the_run_or_has_a_price(self):
        judge = mock.Mock(measured=mock.AsyncMock(return_value=answer_of(None)[2]["rewards"][0]))
        with self.assertRaisesRegex(Unreachable, "so it went.*`unmeasured`"):
            asyncio.run(Turns(judge, TASK, 2).take("a kernel"))
        self.assertEqual(asyncio.run(Turns(judge, TASK, 2, unmeasured=-1.0).take("a kernel")), -1.0)

    def test_what_was_not_measured_is_asked_again_unless_a_recording_answers(self):
        for final, pauses in ((False, [1.0, 2.0, 4.0, 8.0]), (True, [])):
            with Scripted(*[answer_of(None, final=final)] * 5) as server:
                turns = Turns(self.judge(server.url), TASK, 2, unmeasured=-1.0)
                with mock.patch("warpsmith_rewards.asyncio.sleep", mock.AsyncMock()) as sleep:
                    asyncio.run(turns.take("a kernel"))
            self.assertEqual([call.args[0] for call in sleep.await_args_list], pauses)
            self.assertEqual(len(server.asked), len(pauses) + 1)
            self.assertNotIn("so it went", turns.feedback())

    def test_sends_the_token_and_keeps_a_path_prefix(self):
        with tempfile.TemporaryDirectory() as folder, Scripted(answer_of(0.5)) as server:
            token = Path(folder) / "token"
            token.write_text("s3cret\n")
            judge = self.judge(server.url + "/judge/", token_file=token, run="a", reward={"form": "log"})
            judge.rewards([SAMPLE])
        ((path, headers, body),) = server.asked
        self.assertEqual(path, "/judge/v1/reward")
        self.assertEqual(headers["Authorization"], "Bearer s3cret")
        self.assertEqual((body["run"], body["reward"]), ("a", {"form": "log"}))

    def test_refuses_an_address_that_is_none(self):
        for url in ("localhost:8711", "ftp://host", ""):
            with self.assertRaisesRegex(ValueError, "expected http"):
                Judge(url)


class TheServer(WithJudge):
    def test_rewards_come_in_the_order_of_the_samples(self):
        rows = [row for row in points() if row["outcome"] == "passed"]
        replies = [reply(row["point"]) for row in rows]
        with serving() as url:
            judge = self.judge(url, batch=7)
            self.assertIn(TASK, [task["name"] for task in judge.tasks()])
            answers = judge.rewards([{"task": TASK, "completion": text} for text in replies])
            (nothing,) = judge.rewards([{"task": TASK, "completion": "I do not know."}])
            with self.assertRaises(Refused):
                judge.rewards([{"task": "no such task", "completion": replies[0]}])
        for row, answer in zip(rows, answers):
            self.assertEqual(answer["outcome"], "passed")
            self.assertAlmostEqual(answer["ratio"], row["ratio"], places=4)
        self.assertEqual(nothing["outcome"], "unreadable")
        self.assertLess(nothing["reward"], min(answer["reward"] for answer in answers))

    def test_groups_within_their_noise_give_no_gradient(self):
        """Four kernels whose intervals have something in common, though each alone earns another
        reward; and the same with one that is slower beyond the noise."""
        replies = [reply(row["point"]) for row in points() if row["outcome"] == "passed"]
        with serving() as url:
            judge = self.judge(url)

            def ask(texts, **more):
                return judge.rewards([{"task": TASK, "completion": text, **more} for text in texts])

            alone = ask(replies)
            noisy = next(
                start for start in range(len(alone) - 4)
                if max(one["interval"][0] for one in alone[start : start + 4])
                <= min(one["interval"][1] for one in alone[start : start + 4])
                and len({one["reward"] for one in alone[start : start + 4]}) == 4)  # fmt: skip
            same, real = replies[noisy : noisy + 4], [*replies[noisy : noisy + 4], replies[-1]]
            for baseline in ("group-mean", "leave-one-out"):
                earned = [one["reward"] for one in ask(same, group="noise") + ask(real, group="real")]
                worth = advantages(earned, ["noise"] * 4 + ["real"] * 5, baseline=baseline)
                self.assertEqual(worth[:4], [0.0] * 4)
                self.assertTrue(all(worth[4:]) and worth[-1] < 0, worth)


if __name__ == "__main__":
    unittest.main()
