"""Uses `warpsmith serve` as the device of other commands: server_as_device.py PROGRAM, in an empty
folder. What comes of them must be what a replay in this process gives."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
import urllib.request

from serve_client import PROGRAM, TASK, TOKEN, expect


class Server:
    def __init__(self, store, port=0, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--device", "recorded", "--listen", f"127.0.0.1:{port}", "--store",
             store, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on (http://127\.0\.0\.1:(\d+))\n", line)
        expect(found, f"the address on the first line, not {line!r}")
        self.url, self.port = found[1], int(found[2])

    def judged(self):
        with urllib.request.urlopen(self.url + "/metrics") as reply:
            counts = re.findall(r"warpsmith_jobs_total\{.*\} (\d+)", reply.read().decode())
        return sum(map(int, counts))

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(timeout=60)


def start(*arguments):
    return subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def finish(process, status=0):
    out, err = process.communicate(timeout=280)
    expect(process.returncode == status, f"status {status}, not {process.returncode}: {err}{out}")
    return out if status == 0 else out + err


def run(*arguments, status=0):
    return finish(start(*arguments), status)


def tuning(device, store, evaluations=24):
    return ["hgemm", "tune", "--shapes", "64x64x64,512x512x512", "--budget", f"evals={evaluations}",
            "--run", "tuned", "--json", "--quiet", "--device", device, "--store", store]


def through_mcp(device, store):
    """What evaluate_candidate and profile_candidate say of the kernel to start from."""
    calls = [("evaluate_candidate", {"base": "start"}), ("profile_candidate", {"verdict": "start"})]
    messages = [{"jsonrpc": "2.0", "id": 0, "method": "initialize",
                 "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                            "clientInfo": {"name": "test", "version": "1"}}},
                {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    for number, (tool, arguments) in enumerate(calls, 1):
        messages.append({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                         "params": {"name": tool, "arguments": arguments}})
    process = start("mcp", TASK, "--candidate", "best", "--run", "r", "--quiet", "--device", device,
                    "--store", store)
    out, _ = process.communicate("".join(json.dumps(m) + "\n" for m in messages), timeout=120)
    answers = []
    for line in out.splitlines():
        message = json.loads(line)
        if message.get("id"):
            expect("result" in message, f"a result, not {message}")
            answers.append(message["result"])
    expect(len(answers) == len(calls), "an answer to each call")
    verdict = answers[0]["structuredContent"]
    verdict.pop("budget")
    return verdict, answers[1]["content"]


def check_same_answers():
    server = Server("served.db")
    here = json.loads(run(*tuning("recorded", "here.db")))
    there = json.loads(run(*tuning(server.url, "there.db")))
    expect(here == there, f"the same report, not {here} and {there}")
    expect(server.judged() >= 48, "the server to have judged them")
    run("export", "tuned/512x512x512", "--store", "here.db", "-o", "best")
    evaluate = ("evaluate", TASK, "best", "--json", "--store")
    expect(run(*evaluate, "here2.db", "--device", "recorded") ==
           run(*evaluate, "there2.db", "--device", server.url), "the same verdict to the byte")
    expect(through_mcp("recorded", "here3.db") == through_mcp(server.url, "there3.db"),
           "the same answers of MCP")
    server.end()


def check_kills():
    here = json.loads(run(*tuning("recorded", "calm.db", 120)))
    server = Server("killed.db")
    tune = start(*tuning(server.url, "restless.db", 120))
    kills = 0
    for wanted in (10, 25, 40):
        while tune.poll() is None and server.judged() < wanted:
            time.sleep(0.005)
        if tune.poll() is not None:
            break
        server.end(signal.SIGKILL)
        kills += 1
        time.sleep(0.3)
        server = Server("killed.db", server.port)
    there = json.loads(finish(tune))
    server.end()
    expect(kills == 3, "three kills while the search was at work")
    expect(here == there, "the same report after three kills")
    with sqlite3.connect("killed.db") as store:
        (jobs, keys, begun), = store.execute(
            "SELECT count(*), count(DISTINCT key), sum(attempt) FROM served_job")
        (undone,), = store.execute("SELECT count(*) FROM served_job WHERE state <> 'done'")
        (late,), = store.execute("SELECT count(*) FROM late_verdict")
    with sqlite3.connect("restless.db") as store:
        (steps,), = store.execute("SELECT count(*) FROM step")
    expect(jobs == keys == steps and undone == late == 0,
           f"a job a step, all done: {jobs} jobs, {keys} keys, {steps} steps, {undone} not done, "
           f"{late} late")
    expect(begun - jobs <= 4 * kills, f"only what was at work to be begun again, not {begun - jobs}")


def check_refusals():
    with open("token", "w") as token:
        token.write(TOKEN + "\n")
    with open("other", "w") as token:
        token.write(TOKEN[::-1] + "\n")
    server = Server("token.db", 0, "--token-file", "token")
    with_token = tuning(server.url, "t.db", 4) + ["--token-file"]
    run(*with_token, "token")
    for arguments, status, words in (
            (with_token + ["other"], 77, "look at the token in other"),
            (tuning(server.url, "t.db"), 77, "--token-file FILE"),
            (tuning("http://192.0.2.1:1", "t.db"), 78, "--plain-http"),
            (tuning("http://127.0.0.1:1", "t.db"), 69, "see that 'warpsmith serve' runs there"),
            (["serve", "--device", server.url, "--listen", "127.0.0.1:0"], 78, "a server itself")):
        said = run(*arguments, status=status)
        expect(words in said and said.count("\n") <= 2 and TOKEN not in said,
               f"{words!r} in one line, not {said!r}")
    server.end()


def main():
    check_same_answers()
    check_kills()
    check_refusals()


if __name__ == "__main__":
    os.environ["no_proxy"] = "*"
    main()
