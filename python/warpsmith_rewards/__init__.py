"""Rewards of `warpsmith serve` for a trainer. Needs nothing but Python's own library.

    judge = Judge("http://127.0.0.1:8321")
    judge.rewards([{"task": "softmax-f16", "completion": reply}])
    # [{"reward": 0.31, "outcome": "passed", "words": "...", ...}]

A reward of None says that the candidate could not be measured. It says nothing of the candidate.
`trl`, `verl` and `openenv` hold the same in the form that each trainer calls.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import math
import random
import statistics
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

__all__ = ["Judge", "Refused", "Turns", "Unreachable", "advantages", "gain_signs"]

TRY_AGAIN = {408, 429, 502, 503, 504}
OF_A_PROXY = {502, 504}  # before a server that gives no answer
LONGEST_PAUSE_S = 30.0
SAYS_AFTER_S = 5.0  # without an answer
CONNECT_WITHIN_S = 10.0


class Refused(Exception):
    """The server says that the request itself is wrong: another try would fail too."""


class Unreachable(Exception):
    """The server gave no answer for as long as the client is willing to wait."""


class Judge:
    """A server's rewards. One object serves any number of threads and event loops.

    token_file  file whose only line is the server's token
    run         name under which the server shares its device fairly between clients
    reward      form of the reward, such as {"form": "log"}; None: the server's own
    deadline_s  how long the server may take for a request before it says "ask again"
    patience_s  how long requests are repeated before Unreachable is raised. A request can be
                repeated at will: the server knows each candidate by its content.
    """

    def __init__(self, url: str, *, token_file: str | Path | None = None, run: str | None = None,
                 reward: dict | None = None, deadline_s: float = 150, patience_s: float = 1800,
                 threads: int = 32, batch: int = 32):  # fmt: skip
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the judge's address is {url!r}; expected http://HOST:PORT")
        secure = parts.scheme == "https"
        self._connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._address = (parts.hostname, parts.port)
        self._name = f"the judge at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._prefix = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token_file is not None:
            token = Path(token_file).read_text(encoding="ascii").strip()
            self._headers["Authorization"] = f"Bearer {token}"
        self._common = {"deadline_s": deadline_s}
        self._common |= {"run": run} if run else {}
        self._common |= {"reward": reward} if reward else {}
        self._timeout_s, self._patience_s, self._batch = deadline_s + 20, patience_s, batch
        self._idle = deque()  # connections that are kept alive
        self._lock = threading.Lock()  # guards what follows
        self._silent_since: float | None = None
        self._has_said = False
        self._pool = ThreadPoolExecutor(threads, "warpsmith")

    def rewards(self, samples: list[dict]) -> list[dict]:
        """The server's answer to each sample, in order.

        A sample is a task, perhaps a workload, and a completion (or a candidate). Samples of one
        `group` that their measurements cannot tell apart get equal rewards. What else a sample may
        have is kept with its verdict: `sample_id`, `prompt_sha256`, `logprob_sum` of its tokens.
        `shown`: keys of the variants in its prompt; a copy of one of them is worth no gain.
        """
        batches = self._batches_of(samples)
        return [answer for answers in self._pool.map(self._ask, batches) for answer in answers]

    async def rewards_async(self, samples: list[dict]) -> list[dict]:
        """The same without blocking the event loop."""
        loop = asyncio.get_running_loop()
        batches = self._batches_of(samples)
        work = [loop.run_in_executor(self._pool, self._ask, batch) for batch in batches]
        return [answer for answers in await asyncio.gather(*work) for answer in answers]

    async def measured(self, sample: dict, tries: int = 5, pause_s: float = 1.0) -> dict:
        """The answer to one sample, for trainers that have no word for "could not be measured": such a
        sample is asked `tries` times, a recording once. The last answer may still have no reward."""
        for attempt in range(tries):
            (answer,) = await self.rewards_async([sample])
            if answer["reward"] is not None or answer.get("final") or attempt + 1 == tries:
                break
            await asyncio.sleep(pause_s * 2**attempt)
        return answer

    def close(self) -> None:
        """Ends the threads and connections. Nothing may be asked afterwards."""
        self._pool.shutdown()
        while self._idle:
            self._idle.pop().close()

    def tasks(self) -> list[dict]:
        """The tasks that the server judges: name, title, workloads."""
        return self.request("GET", "/v1/tasks")["tasks"]

    def prompt(self, tasks: list[str], **options) -> dict:
        """A prompt for one of the tasks ("TASK" or "TASK#WORKLOAD"), with variants drawn anew.

        Of several tasks the server takes one by its measured difficulty. Options are those of
        POST /v1/prompt: stage, exemplars, bucket, tau, seed, from (write from_), documents, level.
        """
        named = {name.rstrip("_"): value for name, value in options.items()}
        return self.request("POST", "/v1/prompt", {"tasks": tasks, **named})

    def prompts(self, tasks: list[str], **options) -> Iterator[dict]:
        """Rows without end for a trainer's iterable data set: each asks for its prompt when it is
        wanted, so that it shows what the policy wrote up to then."""
        while True:
            drawn = self.prompt(tasks, **options)
            yield {name: drawn[name] for name in ("prompt", "task", "workload", "group")} | {
                "shown": [one["key"] for one in drawn["exemplars"]],
                "prompt_sha256": drawn["prompt_sha256"]}  # fmt: skip

    def request(self, method: str, path: str, body: dict | None = None) -> dict:
        """One request, repeated until it is answered. Raises Refused or Unreachable."""
        text = None if body is None else json.dumps(body)
        give_up, pause = time.monotonic() + self._patience_s, 0.25
        while True:
            try:
                status, wait, answer = self._once(method, path, text)
                is_silent = status in OF_A_PROXY
                if not is_silent:
                    self._heard()
                if status < 300:
                    return json.loads(answer)
                trouble = f"status {status}: {answer[:300].decode(errors='replace')}"
                if status not in TRY_AGAIN:
                    raise Refused(f"{method} {path}: {trouble}")
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
                trouble, wait, is_silent = f"{type(error).__name__}: {error}", 0.0, True
            # Clients that were refused together must not come back together.
            rest = max(wait, pause) * random.uniform(1.0, 1.5)
            if is_silent:
                self._say_if_long(rest, trouble)
            if time.monotonic() + rest > give_up:
                within = f"within {self._patience_s:g} s (patience_s)"
                raise Unreachable(f"no answer from {self._name} {within}; last: {trouble}")
            time.sleep(rest)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _say_if_long(self, rest: float, trouble: str) -> None:
        """One line of all threads, before a pause of `rest` seconds that makes the silence long."""
        with self._lock:
            now = time.monotonic()
            self._silent_since = now if self._silent_since is None else self._silent_since
            if self._has_said or now + rest - self._silent_since < SAYS_AFTER_S:
                return
            self._has_said = True
        print(f"{self._name} gives no answer ({trouble}); asking again for {self._patience_s:g} s "
              "(patience_s). Is `warpsmith serve` running there?", file=sys.stderr, flush=True)  # fmt: skip

    def _heard(self) -> None:
        with self._lock:
            since, has_said = self._silent_since, self._has_said
            self._silent_since, self._has_said = None, False
        if has_said:
            print(f"{self._name} answers again, after {time.monotonic() - since:.0f} s",
                  file=sys.stderr, flush=True)  # fmt: skip

    def _batches_of(self, samples: list[dict]) -> list[list[dict]]:
        """Requests' worth of samples. Neighbours of one group stay together (at most 256 - batch)."""
        batches: list[list[dict]] = []
        for sample in samples:
            full = not batches or len(batches[-1]) >= self._batch
            if full and not (batches and _are_one_group(batches[-1][-1], sample)):
                batches.append([])
            batches[-1].append(sample)
        return batches

    def _ask(self, samples: list[dict]) -> list[dict]:
        body = {**self._common, "samples": samples}
        answers = self.request("POST", "/v1/reward", body)["rewards"]
        if len(answers) != len(samples):
            raise Refused(f"{len(samples)} samples were sent and {len(answers)} rewards came back")
        for answer in answers:
            reward = answer["reward"]
            if reward is not None and not math.isfinite(reward):
                raise Refused(f"the reward {reward} came back, which is no number to learn from")
        return answers

    def _once(self, method: str, path: str, text: str | None) -> tuple[int, float, bytes]:
        """Status, seconds to wait that the server asks for, and body of one try."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect(*self._address, timeout=CONNECT_WITHIN_S)
        try:
            if connection.sock is None:
                connection.connect()
                connection.sock.settimeout(self._timeout_s)
            connection.request(method, self._prefix + path, text, self._headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        wait = response.getheader("Retry-After", "")
        return response.status, float(wait) if wait.isdigit() else 0.0, answer


def _are_one_group(one: dict, other: dict) -> bool:
    return one.get("group") is not None and one.get("group") == other.get("group")


class Turns:
    """A trajectory of several kernels for one task, each written with the verdict on the last in view.

    What a turn adds to the best before it is its gain, so the gains of a trajectory sum up to its best
    kernel's reward, and a kernel that is sent twice adds nothing.
    """

    def __init__(self, judge: Judge, truth: str, turns: int, unmeasured: float | None = None):
        """`truth`: TASK or TASK#WORKLOAD. `unmeasured`: the reward of what cannot be measured; None: the
        run stops with Unreachable."""
        task, _, workload = truth.partition("#")
        self._sample = {"task": task} | ({"workload": workload} if workload else {})
        self._judge, self._left, self._unmeasured = judge, turns, unmeasured
        self.best: float | None = None
        self.answer: dict = {}

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    async def take(self, completion: str) -> float:
        """The gain of the next kernel. `answer` is then the server's answer to it."""
        self._left -= 1
        self.answer = await self._judge.measured({**self._sample, "completion": completion})
        reward = self.answer["reward"]
        if reward is None:
            reward = self._unmeasured
        if reward is None:
            raise Unreachable(f"{self._sample['task']}: a candidate could not be measured "
                              f"({self.answer['words']}); give `unmeasured` to go on")  # fmt: skip
        before, self.best = self.best, reward if self.best is None else max(self.best, reward)
        return self.best - (before or 0.0)

    def feedback(self) -> str:
        """What the model reads before it writes the next kernel: errors of the compiler, a wrong
        element, or its time beside the baseline."""
        if self.answer["reward"] is None:
            return "It could not be measured. Write another kernel, whole."
        return f"The judge says: {self.answer['words']}. Write a better kernel, whole."


SIGNS = ("launches", "below_floor", "bound_share", "bias", "weak_check")


def gain_signs(answers: Sequence[dict]) -> dict[str, float]:
    """What the proven gains among the answers may come by, each the mean over them: fewer launches
    (fusion), times below the floor (algebra, or work left out), digits given up, checks that miss
    things. A curve that moves while rewards rise says where to look. Empty where none gained."""
    gained = [answer["signs"] for answer in answers if (answer.get("interval") or [0])[0] > 1]
    return {f"gain_{name}": statistics.fmean(signs[name] for signs in gained)
            for name in SIGNS if gained}  # fmt: skip


LEAST_SAMPLES = {"group-mean": 4, "leave-one-out": 2}


def advantages(rewards: Sequence[float | None], groups: Sequence[str], *,
               baseline: str = "group-mean",
               least: int | None = None) -> list[float]:  # fmt: skip
    """What each sample is worth beside the others of its group.

    "group-mean" is GRPO's: (reward - mean) / standard deviation, where the mean holds the sample
    itself, which biases small groups. "leave-one-out" (RLOO, TRLOO) is reward - mean of the others.
    Rewards that are None or not finite count for nothing and get 0. So does every sample of a group
    with fewer than `least` measured samples, or whose rewards are all equal.
    """
    if baseline not in LEAST_SAMPLES:
        raise ValueError(f"baseline is {baseline!r}; expected one of {', '.join(LEAST_SAMPLES)}")
    if len(rewards) != len(groups):
        raise ValueError(f"{len(rewards)} rewards and {len(groups)} groups")
    needed = max(2, LEAST_SAMPLES[baseline] if least is None else least)
    members = defaultdict(list)
    for index, reward in enumerate(rewards):
        if reward is not None and math.isfinite(reward):
            members[groups[index]].append(index)
    result = [0.0] * len(rewards)
    for indices in members.values():
        values = [float(rewards[index]) for index in indices]
        if len(values) < needed or min(values) == max(values):
            continue
        mean, total, count = statistics.fmean(values), math.fsum(values), len(values)
        spread = statistics.pstdev(values)
        for index, value in zip(indices, values):
            if baseline == "leave-one-out":
                result[index] = value - (total - value) / (count - 1)
            else:
                result[index] = (value - mean) / spread
    return result
