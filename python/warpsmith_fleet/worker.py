"""One judge of the fleet: a replica that holds a GPU, and its child `warpsmith serve`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import tempfile
import time

import aiohttp
from ray import serve

log = logging.getLogger("ray.serve")
START_S, KILL_S, PROBE_S, ALIVE_S = 120, 20, 10, 5
POLL_S = 20
TROUBLE = (aiohttp.ClientError, OSError, asyncio.TimeoutError)
PROBES = 3  # failed ones in a row, after which the child is replaced


class Child:
    """A process group that dies with this process, and at the latest when it is told to."""

    def __init__(self, command: list[str]):
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="warpsmith-judge-")
        self.url, self.stuck = "", False

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def name(self) -> str:
        return f"{socket.gethostname()}/{self._process.pid if self._process else 0}"

    async def start(self) -> None:
        """Raises where it ended by itself. One that somebody killed meanwhile is not alive."""
        # Ray may SIGKILL this process; a GPU must not go to the next judge while this child lives.
        command = ["setpriv", "--pdeathsig", "KILL", *self._command, "--listen", "127.0.0.1:0"]
        if not any(argument.startswith("--store") for argument in self._command):
            # What the judge before it left undone is the ingress's to hand out again.
            self._folder.cleanup()
            self._folder = tempfile.TemporaryDirectory(prefix="warpsmith-judge-")
            command += ["--store", f"{self._folder.name}/judge.db"]
        self._process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        line = await asyncio.wait_for(self._process.stdout.readline(), START_S)
        self.url = line[line.index(b"http://") :].decode().strip() if b"http://" in line else ""
        if not self.url and (line or await self._process.wait() >= 0):
            raise RuntimeError(f"{' '.join(command)} said {line!r}; expected its address")

    async def kill(self) -> None:
        """Afterwards the group is gone, or `stuck` says that not even SIGKILL ends it."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        try:
            await asyncio.wait_for(self._process.wait(), KILL_S)
        except asyncio.TimeoutError:
            self.stuck = True


@serve.deployment(
    max_ongoing_requests=1,
    health_check_period_s=5,
    health_check_timeout_s=START_S + PROBE_S,
    graceful_shutdown_timeout_s=10,
)
class Worker:
    def __init__(self, program: str, arguments: list[str], limit_s: float):
        self._child = Child([program, "serve", *arguments])
        self._limit_s = limit_s
        self._starting = asyncio.Lock()
        self._failed_probes = 0
        self._http: aiohttp.ClientSession | None = None

    async def ask(self, method: str, path: str, body: bytes, is_suspect: bool) -> dict:
        """One request of the child: {"status", "body"}, or {"lost", "why"}, or {"stuck"}.

        For POST /v1/jobs the answer is not 202 with keys but 200 with the finished jobs, and null
        for each that a child which died had not finished. A suspect request goes only to a child
        that answers: `lost` of one that was dead or hung before is "".
        """
        if not await self._is_up():
            return {"stuck": self._child.name}
        name = self._child.name
        lost = "" if is_suspect else name
        keys, done = [], {}
        try:
            if is_suspect:
                await self._once("GET", "/healthz", b"", ALIVE_S)
                lost = name
            reply = await self._once(method, path, body, self._limit_s)
            if reply["status"] != 202:
                return reply
            keys = json.loads(reply["body"])["keys"]
            await self._collect(keys, done)
        except TROUBLE as error:
            if name == self._child.name:
                await self._child.kill()  # it may only hang
            if not done:
                return {"lost": lost, "why": f"{type(error).__name__}: {error}"}
        jobs = [done.get(key) for key in keys]
        return {"status": 200, "body": json.dumps({"jobs": jobs}).encode()}

    async def check_health(self) -> None:
        """Serve calls it every few seconds. It replaces a child that is dead or never ready."""
        if self._child.stuck:
            return  # keeps the replica, and with it the GPU, away from other judges
        await self._start()
        try:
            status = (await self._once("GET", "/readyz", b"", PROBE_S))["status"]
        except TROUBLE as error:
            status = repr(error)
        self._failed_probes = 0 if status == 200 else self._failed_probes + 1
        if self._failed_probes >= PROBES:
            log.warning("judge %s is not ready (%s): replaced", self._child.name, status)
            self._failed_probes = 0
            await self._child.kill()

    async def _is_up(self) -> bool:
        """Starts the child if there is none. False: it cannot be ended, so it gets no work."""
        if self._child.stuck:
            await asyncio.sleep(5)  # looks busy, so that few calls come here
            return False
        await self._start()
        return True

    async def _start(self) -> None:
        async with self._starting:
            if not self._child.is_alive and not self._child.stuck:
                await self._child.kill()  # what is left of its group
                await self._child.start()

    async def _once(self, method: str, path: str, body: bytes, limit_s: float) -> dict:
        self._http = self._http or aiohttp.ClientSession()
        limit = aiohttp.ClientTimeout(total=limit_s)
        url = self._child.url + path
        async with self._http.request(method, url, data=body or None, timeout=limit) as reply:
            return {"status": reply.status, "body": await reply.read()}

    async def _collect(self, keys: list[str], done: dict[str, dict]) -> None:
        """Puts each job of a 202 into `done` when it is finished, until all are."""
        give_up = time.monotonic() + self._limit_s
        while left := [key for key in dict.fromkeys(keys) if key not in done]:
            if time.monotonic() > give_up:
                raise asyncio.TimeoutError(f"{len(left)} jobs after {self._limit_s:g} s")
            path = f"/v1/jobs?keys={','.join(left)}&wait={POLL_S}"
            polled = await self._once("GET", path, b"", min(2 * POLL_S, self._limit_s))
            if polled["status"] != 200:
                raise OSError(f"{path}: status {polled['status']}")
            for job in json.loads(polled["body"])["jobs"]:
                if job["state"] == "unknown":
                    raise OSError("the server forgot a job that it had accepted")
                done |= {job["key"]: job} if job["state"] == "done" else {}
