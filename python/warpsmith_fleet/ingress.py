"""The fleet's address: what comes in is cut into calls, and each call is judged until it is."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
import logging
import random
import re
from collections import Counter
from pathlib import Path

from ray import serve
from ray.exceptions import RayError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from warpsmith_fleet.ledger import Ledger

log = logging.getLogger("ray.serve")
ANSWER_WITHIN_S = 170  # OpenRLHF hangs up after 180
DEATHS = 2  # of different judges that had nothing else to do, after which a candidate is to blame
WORDS = f"{DEATHS} judges died while they judged it"
FAILED = {"reward": -1.0, "outcome": "run-failed", "words": WORDS, "terms": {}}
VERDICT = {"outcome": "run-failed", "call": "warpsmith serve", "code": "lost", "detail": WORDS}


@serve.deployment(
    max_ongoing_requests=10_000,
    # On the head node, where the file of results lies.
    ray_actor_options={"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}},
)
class Ingress:
    def __init__(self, workers, results, token_file, longest_queue, candidates_a_call, replicas):
        self._workers = workers
        self._replicas = replicas
        self._ledger = Ledger(results)
        self._token = Path(token_file).read_text().strip() if token_file else None
        self._longest_queue = longest_queue
        self._candidates_a_call = candidates_a_call
        self._calls: dict[str, asyncio.Future] = {}  # what is in flight, by key
        self._line: list[tuple[dict, asyncio.Future]] = []  # rewards that wait for a judge
        self._sending = 0  # calls with rewards
        self._counts: Counter = Counter()
        self._stuck: set[str] = set()
        asyncio.get_running_loop().call_soon(self._begin_jobs, dict(self._ledger.unfinished()))

    async def __call__(self, request: Request) -> Response:
        path = request.url.path
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if in_path := re.fullmatch("/t/([^/]+)(/.*)", path):
            token, path = in_path.groups()
        if path == "/healthz":
            return JSONResponse({"ok": True})
        if self._token and not hmac.compare_digest(token.encode(), self._token.encode()):
            return _error(401, "unauthorized", "send the token: Authorization: Bearer TOKEN")
        if path == "/metrics":
            return PlainTextResponse(self._metrics())
        if request.method == "GET" and path == "/v1/jobs":
            return await self._poll(request.query_params)
        if request.method == "GET":
            return _plain(await self._call("GET", path, b""))
        try:
            body = await request.json()
            if len(self._calls) >= self._longest_queue:
                return _error(429, "overloaded", "the line is full; try again", 2)
            if path == "/v1/jobs":
                return self._accept(body)
            if path == "/v1/reward":
                return await self._reward(body)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return _error(400, "bad-request", f"the body is not as {path} wants it: {error!r}")
        call = self._begin(path, body)
        return await self._within(ANSWER_WITHIN_S, [call], lambda answers: _plain(*answers))

    # --- Rewards: a group of samples is a call, because the server compares its members.

    async def _reward(self, body: dict) -> Response:
        common = {name: body[name] for name in ("reward", "level") if name in body}
        alike = itertools.groupby(enumerate(body["samples"]), key=_group_of)
        groups = [[sample for _, sample in group] for _, group in alike]
        calls = [self._begin("/v1/reward", {**common, "samples": group}) for group in groups]
        patience_s = min(float(body.get("deadline_s", ANSWER_WITHIN_S)), 600)
        return await self._within(patience_s, calls, _joined)

    async def _within(self, seconds: float, calls: list[asyncio.Future], join) -> Response:
        """The calls' answer, or "ask again": the calls go on, and asking again finds them."""
        _, late = await asyncio.wait(calls, timeout=seconds)
        if late:
            return _error(503, "still-running", "not judged yet; send the same request again", 1)
        return join([call.result() for call in calls])

    def _begin(self, path: str, body: dict) -> asyncio.Future:
        """The call's future. The same path and body in flight, or answered before, share one."""
        key = _key_of(path, body)
        if key not in self._calls:
            self._calls[key] = asyncio.ensure_future(self._settle(key, path, body))
            self._calls[key].add_done_callback(lambda _: self._calls.pop(key, None))
        return self._calls[key]

    async def _settle(self, key: str, path: str, body: dict) -> dict:
        if (known := self._ledger.find(key)) is not None:
            self._counts["from_store"] += 1
            return known
        samples = body.get("samples", [body])
        if path == "/v1/reward":
            answer = await self._stand_in_line(body)
        else:
            answer = await self._call("POST", path, json.dumps(body).encode())
        if answer is None and len(samples) > 1:  # one of them is to blame: each by itself
            parts = [self._begin(path, {**body, "samples": [one]}) for one in samples]
            answer = {"status": 200, "json": _rewards(await asyncio.gather(*parts))}
        elif answer is None:
            self._counts["blamed"] += 1
            answer = {"status": 200, "json": _failed(path, body)}
        final = answer["status"] == 200 and '"reward": null' not in json.dumps(answer["json"])
        return self._ledger.settle(key, answer) if final else answer

    def _stand_in_line(self, body: dict) -> asyncio.Future:
        future = asyncio.get_running_loop().create_future()
        self._line.append((body, future))
        if self._sending < self._replicas:
            self._sending += 1
            asyncio.ensure_future(self._send_line()).add_done_callback(lambda done: done.result())
        return future

    async def _send_line(self) -> None:
        """For each judge that is free, what has come meanwhile and goes together is a call."""
        while self._line:
            together, self._line = goes_together(self._line, self._candidates_a_call)
            bodies, futures = zip(*together)
            try:
                answers = await self._ask_together(bodies)
            except Exception as error:  # of Ray or of an answer: the clients are told, the line goes on
                answers = [error] * len(bodies)
            for future, one in zip(futures, answers):
                (future.set_exception if isinstance(one, Exception) else future.set_result)(one)
        self._sending -= 1

    async def _ask_together(self, bodies: list[dict]) -> list[dict | None]:
        answer = await self._ask_for(
            {**bodies[0], "samples": [sample for body in bodies for sample in body["samples"]]}
        )
        if len(bodies) == 1:
            return [answer]
        if answer is None or answer["status"] != 200:  # of one of them, perhaps: each by itself
            return await asyncio.gather(*map(self._ask_for, bodies))
        rewards = iter(answer["json"]["rewards"])
        parts = [list(itertools.islice(rewards, len(body["samples"]))) for body in bodies]
        return [{"status": 200, "json": {"rewards": part}} for part in parts]

    async def _ask_for(self, body: dict) -> dict | None:
        sent = json.dumps({**body, "deadline_s": 600}).encode()
        return await self._call("POST", "/v1/reward", sent)

    # --- Jobs: accepted and written down first, judged afterwards.

    def _accept(self, body: dict) -> Response:
        common = {name: body[name] for name in ("task", "workload", "level") if name in body}
        field = "jobs" if "jobs" in body else "candidates"
        jobs: dict[str, dict] = {}
        keys = []
        for one in body[field]:
            job = {"field": field, "common": common, "one": one}
            keys.append(_key_of("/v1/jobs", job))
            jobs[keys[-1]] = job
        self._ledger.accept(jobs)
        self._begin_jobs({key: job for key, job in jobs.items() if not self._ledger.find(key)})
        return JSONResponse({"keys": keys}, 202)

    def _begin_jobs(self, jobs: dict[str, dict]) -> None:
        """Starts what is not under way, several candidates a call where they have all in common."""
        fresh = [(key, job) for key, job in jobs.items() if key not in self._calls]
        for _, alike in itertools.groupby(fresh, lambda one: (one[1]["field"], one[1]["common"])):
            alike = list(alike)
            for i in range(0, len(alike), self._candidates_a_call):
                part = dict(alike[i : i + self._candidates_a_call])
                for key in part:
                    self._calls[key] = asyncio.get_running_loop().create_future()
                task = asyncio.ensure_future(self._judge(part))
                task.add_done_callback(lambda done: done.result())

    async def _judge(self, jobs: dict[str, dict]) -> None:
        first = next(iter(jobs.values()))
        body = {**first["common"], first["field"]: [job["one"] for job in jobs.values()]}
        answer = await self._call("POST", "/v1/jobs", json.dumps(body).encode())
        if answer is None and len(jobs) > 1:  # one of them is to blame: each by itself
            await asyncio.gather(*(self._judge({key: job}) for key, job in jobs.items()))
            return
        if answer is None:
            self._counts["blamed"] += 1
            answers = [{"state": "done", "verdict": VERDICT}]
        elif answer["status"] == 200:
            answers = answer["json"]["jobs"]
        else:
            answers = [{"state": "done", **answer["json"]}] * len(jobs)
        left = {}
        for (key, job), one in zip(jobs.items(), answers):
            if one is None:
                left[key] = job
            else:
                self._done(key, one)
        if left:  # the judge died over them
            self._counts["lost_judges"] += 1
            await self._judge(left)

    def _done(self, key: str, answer: dict) -> None:
        answer = self._ledger.settle(key, {**answer, "key": key})
        if (future := self._calls.pop(key, None)) is not None and not future.done():
            future.set_result(answer)

    async def _poll(self, query) -> Response:
        keys = [key for key in query.get("keys", "").split(",") if key][:256]
        running = [self._calls[key] for key in keys if key in self._calls]
        if running:
            patience_s = min(float(query.get("wait", 0)), 60)
            await asyncio.wait(running, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
        states = {key: "running" if key in self._calls else "unknown" for key in keys}
        jobs = [self._ledger.find(key) or {"key": key, "state": states[key]} for key in keys]
        return JSONResponse({"jobs": jobs})

    # --- One call of one judge.

    async def _call(self, method: str, path: str, body: bytes) -> dict | None:
        """{"status", "json"} of a judge; None: several died over it that had been seen to be well.

        Others may have died, or be dead, of something else.
        """
        deaths, pause, is_suspect = set(), 0.1, False
        again = {429, 502, 503} if path == "/v1/jobs" else {429, 502}
        while len(deaths) < DEATHS:
            self._counts["calls"] += 1
            try:
                reply = await self._workers.ask.remote(method, path, body, is_suspect)
            except RayError as error:
                reply = {"error": error}
            if reply.get("status", 502) not in again:
                return {"status": reply["status"], "json": _json_of(reply["body"])}
            pause = self._note(reply, deaths if is_suspect else set(), pause)
            is_suspect = True
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
        return None

    def _note(self, reply: dict, deaths: set, pause: float) -> float:
        """Remembers why a call has no answer; how long to wait before the next try."""
        if "lost" in reply:
            self._counts["lost_judges"] += 1
            deaths |= {reply["lost"]} - {""}
            return 0.1
        if "stuck" in reply:
            self._stuck.add(reply["stuck"])
            return 0.1
        # A replica or its node went away. Ray may say so for seconds: back off.
        self._counts["lost_replicas"] += 1
        log.warning("a judge did not answer: %s", reply.get("error", reply.get("status")))
        if "ActorDied" in type(reply.get("error")).__name__:
            deaths.add(str(reply["error"]))
        return min(2 * pause, 4.0)

    def _metrics(self) -> str:
        counts = {"in_flight": len(self._calls), "gpu_quarantined": len(self._stuck)}
        lines = {**counts, **{f"{name}_total": count for name, count in self._counts.items()}}
        return "".join(f"warpsmith_fleet_{name} {value}\n" for name, value in lines.items())


def goes_together(line: list[tuple[dict, object]], room: int) -> tuple[list, list]:
    """What of a line of rewards is a call, with the line's first, and what is left.

    The same form and level; never two of the same group, whose members are compared.
    """
    taken, left, groups = [], [], set()
    common = _common_of(line[0][0])
    for place in line:
        body = place[0]
        group, size = _group_of((len(groups), body["samples"][0])), len(body["samples"])
        fits = not taken or (size <= room and group not in groups)
        if fits and _common_of(body) == common:
            taken.append(place)
            groups.add(group)
            room -= size
        else:
            left.append(place)
    return taken, left


def _group_of(item: tuple[int, dict]):
    index, sample = item
    group = sample.get("group")
    return (sample["task"], group) if group is not None else index


def _common_of(body: dict) -> dict:
    return {name: value for name, value in body.items() if name != "samples"}


def _key_of(path: str, body: dict) -> str:
    kept = {name: value for name, value in body.items() if name not in ("run", "deadline_s")}
    return hashlib.sha256(f"{path}\n{json.dumps(kept, sort_keys=True)}".encode()).hexdigest()


def _json_of(body: bytes):
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _rewards(parts: list[dict]) -> dict:
    return {"rewards": [reward for part in parts for reward in part["json"]["rewards"]]}


def _joined(answers: list[dict]) -> Response:
    wrong = [answer for answer in answers if answer["status"] != 200]
    return _plain(wrong[0]) if wrong else JSONResponse(_rewards(answers))


def _plain(answer: dict | None) -> Response:
    if answer is None:
        return _error(503, "not-ready", "judges died over this request; try again", 5)
    headers = {"Retry-After": "1"} if answer["status"] == 503 else None
    return JSONResponse(answer["json"], answer["status"], headers)


def _failed(path: str, body: dict) -> dict:
    if path == "/v1/reward":
        return {"rewards": [FAILED]}
    if path == "/get_reward":
        return {"rewards": -1.0, "scores": -1.0, "extra_logs": {"outcome": "run-failed"}}
    return {**body, "reward": -1.0, "mask_sample": False, "failure_kind": "run-failed",
            "failure_reason": WORDS}  # fmt: skip


def _error(status: int, code: str, message: str, retry_after_s: int | None = None) -> Response:
    headers = {"Retry-After": str(retry_after_s)} if retry_after_s else None
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)
