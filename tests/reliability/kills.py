"""Classes of faults.py that end or stop a process: each function prepares, and returns a try."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from program import (
    AGENT, CHECKOUT, LIMIT_S, SMALL, Failure, Program, Skip, Work, after_a_while, bundle_with_results,
    make_bundle, report, timed, tuning,
)  # fmt: skip

sys.path.insert(0, str(CHECKOUT / "tests/program"))
import serve_client  # noqa: E402

PARTS = 5  # verdicts, outcomes and notes of one conversation


def kill(process: subprocess.Popen, seconds: float, rng) -> None:
    after_a_while(process, seconds, rng, signal.SIGKILL)
    process.communicate()


def kill_work(work: Work):
    def attempt(rng):
        work.fresh()
        kill(work.program.begin(*work.line("--run", work.store)), work.seconds, rng)
        work.finish()

    return attempt


def kill_tune(program: Program):
    return kill_work(tuning(program))


def kill_agent(program: Program):
    command = ["optimize", CHECKOUT / "tasks/softmax-f16", "--proposer", "agent", "--quiet"]
    command += ["--model", f"recorded:{AGENT}", "--device", AGENT]
    return kill_work(Work(program, command, "faulty.db"))


class Conversation:
    """A client of `warpsmith mcp` that goes on where its last server's answers ended."""

    def __init__(self, program: Program, store: str, base: str):
        self.program, self.store, self.base = program, store, base
        self.verdicts: list[str] = []  # acknowledged
        self.outcomes: set[int] = set()
        self.notes: set[int] = set()
        self.process, self.asked = None, 0

    def begin(self, how: str, kill_after: float | None = None) -> None:
        self.process = self.program.begin(
            "mcp", "hgemm:64x64x64:TN", "--device", SMALL, "--store", self.store,
            "--candidate", "best", "--knowledge", self.base, how, "server", "--quiet",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        if kill_after is not None:
            threading.Timer(kill_after, self.process.kill).start()
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={},
                 clientInfo={"name": "test", "version": "1"})  # fmt: skip

    def ask(self, method: str, **params) -> dict:
        self.asked += 1
        message = {"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise EOFError from None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return json.loads(line)

    def call(self, tool: str, **arguments) -> dict:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        if result["isError"]:
            raise Failure(f"{tool} {arguments}: {result['content'][0]['text'][:300]}")
        return result["structuredContent"]

    def go_on(self) -> None:
        for part in range(PARTS):
            if part == len(self.verdicts):
                answer = self.call("evaluate_candidate", base=f"run:tuned/64x64x64#{part}")
                self.verdicts.append(answer["verdict"])
            if part > 0 and part not in self.outcomes:
                self.call("record_outcome", verdict=self.verdicts[part], base=self.verdicts[0],
                          state="tail", technique="split-k")  # fmt: skip
                self.outcomes.add(part)
            if part not in self.notes:
                self.call("add_note", text=f"note {part}", state="tail", verdict=self.verdicts[part])
                self.notes.add(part)

    def end(self) -> None:
        self.process.communicate(timeout=LIMIT_S)
        if self.process.returncode != 0:
            raise Failure(f"the server ended with {self.process.returncode}")

    def check(self) -> None:
        """What was acknowledged is there, once; at most one call more than that was carried out."""
        for verdict in self.verdicts:
            self.call("read_verdict", verdict=verdict)
        left = self.call("budget_left")["limits"]["evaluations"]
        if not 0 <= left["spent"] - len(self.verdicts) <= 1:
            raise Failure(f"{left['spent']} steps, {len(self.verdicts)} acknowledged")

    def check_base(self) -> None:
        lines = self.program.must("kb", "export", "-", "--knowledge", self.base).splitlines()
        facts = [json.loads(line) for line in lines[1:]]
        found = sorted(fact["text"] for fact in facts if fact["kind"] == "note")
        wanted = [f"note {part}" for part in range(PARTS)]
        if sorted(set(found)) != wanted or len(found) > PARTS + 1:
            raise Failure(f"the notes are {found}")
        outcomes = [fact["evidence"] for fact in facts if fact["kind"] == "outcome"]
        if len(outcomes) != PARTS - 1 or len(set(outcomes)) != PARTS - 1:
            raise Failure(f"the outcomes are of {outcomes}")


def kill_mcp(program: Program):
    tune = ["hgemm", "tune", "--shapes", "64x64x64", "--device", SMALL, "--budget", "evals=12"]
    program.must(*tune, "--finalists", "1", "--quiet", "--store", "tuned.db", "--run", "tuned")
    program.must("export", "tuned/64x64x64", "--store", "tuned.db", "-o", "best")
    store, base = program.folder / "faulty.db", program.folder / "faulty-base.db"

    def fresh() -> Conversation:
        program.remove("faulty*")
        store.write_bytes((program.folder / "tuned.db").read_bytes())
        return Conversation(program, store.name, base.name)

    def undisturbed():
        conversation = fresh()
        conversation.begin("--run")
        conversation.go_on()
        conversation.end()
        conversation.check_base()

    undisturbed()
    seconds = timed(undisturbed)

    def attempt(rng):
        conversation = fresh()
        try:
            conversation.begin("--run", kill_after=rng.uniform(0, seconds))
            conversation.go_on()
        except EOFError:
            pass
        conversation.process.kill()
        conversation.process.communicate()
        try:
            conversation.begin("--resume")
        except EOFError:
            _, err = conversation.process.communicate()
            if conversation.verdicts or b"no such run" not in err:
                raise Failure(f"the run is lost: {err[:300]}") from None
            conversation.begin("--run")
        conversation.check()
        conversation.go_on()
        conversation.end()
        conversation.check_base()

    return attempt


class JobsClient(threading.Thread):
    """Submits batches until the server is gone; keys count when an answer was read whole."""

    def __init__(self, server: serve_client.Server, points: list, rng):
        super().__init__()
        self.server, self.points, self.rng = server, points, rng
        self.acknowledged: set[str] = set()

    def run(self) -> None:
        plan = {"version": 1, "operations": [
            {"type": "memset", "target": "C", "value": 0, "bytes": "2 * M * N"}]}  # fmt: skip
        while True:
            batch = self.rng.sample(self.points, 4)
            # One that was not recorded, too: another way through.
            batch.append({"source": f"// {self.rng.random()}", "plan": plan})
            body = {"run": "kills", "task": "hgemm:128x128x128:TN", "candidates": batch}
            try:
                status, answer, _ = self.server.ask("POST", "/v1/jobs", body)
            except (OSError, http.client.HTTPException, ValueError):
                return
            if status == 202:
                self.acknowledged.update(answer["keys"])


def finish_jobs(server: serve_client.Server, keys: set[str]) -> None:
    """Waits until every one of them is judged."""
    left, until = sorted(keys), time.monotonic() + LIMIT_S
    while left:
        jobs = server.ask("GET", "/v1/jobs?wait=10&keys=" + ",".join(left[:200]))[1]["jobs"]
        lost = [job["key"] for job in jobs if job["state"] == "unknown"]
        if lost:
            raise Failure(f"acknowledged, and not known: {lost}")
        done = {job["key"] for job in jobs if job["state"] == "done"}
        left = [key for key in left if key not in done]
        if left and time.monotonic() > until:
            raise Failure(f"acknowledged, and not judged: {left}")


def kill_serve(program: Program):
    points = program.folder / "points.txt"
    points.write_text(program.must("hgemm", "show", "128x128x128", "--device", SMALL, "--top", 64))
    points = serve_client.read_points(points)
    store = program.folder / "faulty.db"
    seen = {"kills": 0}  # of this store

    def begin(*arguments):
        return program.begin(*arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def attempt(rng):
        seen["kills"] += 1
        if seen["kills"] % 50 == 0:  # a store with many jobs, and new ones
            program.remove("faulty.db*")
        server = serve_client.Server(store=store, begin=begin, device=SMALL)
        client = JobsClient(server, points, rng)
        client.start()
        kill(server.process, 0.5, rng)
        client.join()
        server = serve_client.Server(store=store, begin=begin, device=SMALL)
        try:
            finish_jobs(server, client.acknowledged)
            server.process.send_signal(signal.SIGTERM)
            server.process.communicate(timeout=LIMIT_S)
        except (OSError, http.client.HTTPException, subprocess.TimeoutExpired) as error:
            raise Failure(f"the next server: {error}") from None
        finally:
            server.process.kill()
            server.process.communicate()
        if server.process.returncode != 0:
            raise Failure(f"the next server ended with {server.process.returncode}")
        with contextlib.closing(sqlite3.connect(store)) as database:
            twice = "SELECT key FROM verdict GROUP BY key HAVING count(*) > 1"
            if database.execute(twice).fetchall():
                raise Failure("a verdict is there twice")
            judged = {row[0] for row in database.execute("SELECT key FROM verdict")}
        if not client.acknowledged <= judged:
            raise Failure(f"no verdict of {client.acknowledged - judged}")

    return attempt


def kill_merge(program: Program):
    program.must("kb", "import", CHECKOUT / "data/knowledge/h200.jsonl", "--knowledge", "h200.db")
    merge = ["kb", "merge", "h200.db", "--knowledge", "faulty.db"]
    seconds = timed(lambda: program.must(*merge))
    expected = program.must("kb", "export", "-", "--knowledge", "faulty.db")

    def attempt(rng):
        program.remove("faulty.db*")
        kill(program.begin(*merge), seconds, rng)
        program.must(*merge)
        program.must("kb", "verify", "--knowledge", "faulty.db")
        if program.must("kb", "export", "-", "--knowledge", "faulty.db") != expected:
            raise Failure("the base is not that of the undisturbed merge")

    return attempt


def files_of(program: Program, folder: str) -> dict:
    return json.loads((program.folder / folder / "manifest.json").read_text())["sha256"]


def kill_make(program: Program):
    program.must(*make_bundle("compiled", 2))  # what it compiles is kept for the others
    seconds = timed(lambda: program.must(*make_bundle("whole", 2)))
    expected = files_of(program, "whole")

    def attempt(rng):
        program.remove("faulty*")
        kill(program.begin(*make_bundle("faulty", 2)), seconds, rng)
        if not (program.folder / "faulty").exists():
            program.must(*make_bundle("faulty", 2))
        if files_of(program, "faulty") != expected:
            raise Failure("the bundle is not that of the undisturbed call")

    return attempt


def kill_take(program: Program):
    bundle = bundle_with_results(program, 8)
    jobs = json.loads((bundle / "manifest.json").read_text())["jobs"]
    take = ["bundle", "take", "bundle", "--store", "faulty.db", "--quiet"]

    def verdicts() -> list:
        with contextlib.closing(sqlite3.connect(program.folder / "faulty.db")) as database:
            rows = "SELECT key, digest, origin FROM verdict ORDER BY key"
            return database.execute(rows).fetchall()

    seconds = timed(lambda: program.must(*take))
    expected = verdicts()

    def attempt(rng):
        program.remove("faulty.db*")
        kill(program.begin(*take), seconds, rng)
        program.must(*take)
        program.must("store", "check", "faulty.db")
        if len(expected) != jobs or verdicts() != expected:
            raise Failure("the verdicts are not those of the undisturbed call")

    return attempt


def end_lease(path) -> bool:
    """Its 15 minutes are over, which nobody waits for here. False: who was stopped has the lock."""
    with contextlib.closing(sqlite3.connect(path, timeout=2)) as database:
        try:
            database.execute("UPDATE job SET lease_until = 0 WHERE state = 'leased'")
            database.commit()
        except sqlite3.OperationalError as error:
            # It was stopped in the middle of a transaction, which is its right; or of the first.
            if "locked" not in str(error) and "no such table" not in str(error):
                raise
            return False
    return True


def stop_worker(program: Program):
    work = tuning(program)
    store = program.folder / work.store

    def attempt(rng):
        work.fresh()
        sleeper = program.begin(*work.line("--run", work.store))
        after_a_while(sleeper, work.seconds, rng, signal.SIGSTOP)
        try:
            if sleeper.poll() is None and store.exists() and end_lease(store):
                work.finish()
        finally:
            sleeper.send_signal(signal.SIGCONT)
            sleeper.communicate(timeout=LIMIT_S)
        if sleeper.returncode not in (0, 75):
            raise Failure(f"the one that woke up ended with {sleeper.returncode}")
        if report(program, work.store) != work.expected:
            raise Failure("the one that woke up changed the report")

    return attempt


def lose_gpu(program: Program, codes: tuple[int, ...]):
    """`codes`: what the driver says from then on (a CUresult), or 0: a runner's calls never end."""
    if program.tools["tests"] is None:
        raise Skip("needs --tests, a build's folder of tests")
    judge = program.tools["tests"].resolve() / "vanishing_gpu"
    limit_s = 300  # starting a runner is given a minute, and there are two candidates

    def calls_of(calls: int, code: int) -> int:
        try:
            done = subprocess.run([judge, str(calls), str(code)], capture_output=True, text=True,
                                  env=program.environment, timeout=limit_s, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failure(f"hangs without a GPU after {calls} calls, code {code}") from None
        if done.returncode != 0:
            raise Failure(f"{calls} calls, code {code}: {done.returncode}: {done.stdout[:500]}"
                          f"{done.stderr[:500]}")  # fmt: skip
        return int(done.stdout.rsplit("calls: ", 1)[1])

    undisturbed = calls_of(10**12, codes[0])

    def attempt(rng):
        calls_of(rng.randrange(undisturbed), rng.choice(codes))

    return attempt


def vanish_gpu(program: Program):
    return lose_gpu(program, (46, 214, 700, 999))  # unavailable, ECC, illegal address, unknown


def hang_gpu(program: Program):
    return lose_gpu(program, (0,))
