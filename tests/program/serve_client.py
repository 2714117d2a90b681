"""Speaks HTTP to `warpsmith serve`, as clients should and as they should not:
serve_client.py PROGRAM, in a folder with points.txt (the output of `hgemm show`)."""

import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else ""
TASK = "hgemm:512x512x512:TN"
TOKEN = "0123456789abcdef0123"


def expect(condition, what):
    if not condition:
        sys.exit(f"expected: {what}")


def read_points(path="points.txt"):
    points = []
    with open(path) as text:
        for line in text:
            found = re.search(r"passed\s+(\w+) (\w+=.*)", line)
            if found:
                values = dict(pair.split("=") for pair in found[2].split())
                points.append({"family": found[1],
                               "values": {name: int(value) for name, value in values.items()}})
    expect(points, "points of the recorded space")
    return points


def begin(*arguments):
    return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


class Server:
    def __init__(self, *options, store="s.db", device="recorded", begin=begin):
        """`begin` starts the program with arguments, its stdout a pipe."""
        self.process = begin("serve", "--device", device, "--listen", "127.0.0.1:0",
                             "--store", store, *options)
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"listening on http://127\.0\.0\.1:(\d+)\n", line)
        expect(found, f"the address on the first line, not {line!r}")
        self.port = int(found[1])

    def ask(self, method, path, body=None, **headers):
        """(status, JSON or text, headers)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        text = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, text, {k.replace("_", "-"): v for k, v in headers.items()})
        reply = connection.getresponse()
        answer = reply.read()
        connection.close()
        is_json = reply.getheader("Content-Type") == "application/json"
        return reply.status, json.loads(answer) if is_json else answer.decode(), reply.headers

    def say(self, data, hears=True):
        """Raw bytes in, the first line of the answer out; empty when the connection just ended."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as client:
            try:
                client.sendall(data)
                if not hears:
                    return b""
                client.shutdown(socket.SHUT_WR)
                return client.recv(4096).split(b"\r\n")[0]
            except OSError:  # the server ended the connection first
                return b""

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        expect(self.process.wait(timeout=60) == 0, "exit status 0 after SIGTERM")


def check_rewards(server, points):
    fenced = f"Here:\n```json\n{json.dumps(points[0])}\n```\n"
    samples = [{"completion": fenced}, {"candidate": points[0]}, {"completion": "I cannot."},
               {"candidate": {"family": "wgmma", "values": {"tile_m": 0}}},
               {"candidate": {"family": "wgmma", "values": {"no_such": 1}}}]
    for sample in samples:
        sample["task"] = TASK
    status, answer, _ = server.ask("POST", "/v1/reward", {"samples": samples})
    expect(status == 200, f"rewards, not {answer}")
    first, second, unreadable, illegal, unknown = answer["rewards"]
    expect(first == second and first["outcome"] == "passed", f"one kernel twice, not {answer}")
    low, high = first["interval"]
    earned = low if low > 1 else high if high < 1 else 1
    expect(first["reward"] == first["terms"]["earned"] == earned, f"the nearer end, not {first}")
    expect(first["signs"]["launches"] == 1 and 0 < first["signs"]["bound_share"] <= 1, f"signs: {first}")
    expect("signs" not in illegal, "signs of what passed only")
    expect(unreadable["outcome"] == "unreadable", f"unreadable, not {unreadable}")
    expect(illegal["outcome"] == unknown["outcome"] == "rejected", "illegal points are rejected")
    expect(unreadable["reward"] < illegal["reward"] < 0 < first["reward"], "the order of outcomes")
    lacking, broken = server.ask("POST", "/v1/reward", {"samples": [
        {"task": TASK, "completion": one} for one in ('{"family":"tiny"}', '{"family":')]})[1]["rewards"]
    expect('has no "values"' in lacking["words"] and "the configuration: " in broken["words"],
           f"what a configuration lacks, not {lacking} {broken}")
    for form in ("eq3", "log", "smoothed", "ordinal"):
        one = {"reward": {"form": form}, "samples": [samples[1]]}
        status, answer, _ = server.ask("POST", "/v1/reward", one)
        expect(status == 200 and answer["rewards"][0]["reward"] > -1, f"a reward, not {answer}")
    everything = [{"task": TASK, "candidate": point, "group": "g"} for point in points]
    status, answer, _ = server.ask("POST", "/v1/reward", {"samples": everything})
    expect(status == 200 and len(answer["rewards"]) == len(points), "a reward for each")
    for wrong in ({"task": "no-such-task", "completion": ""}, {"task": "../../etc", "completion": ""},
                  {"task": TASK, "workload": "none", "completion": ""}):
        expect(server.ask("POST", "/v1/reward", {"samples": [wrong]})[0] == 400, "400 for no task")
    with open("sample.json") as page:  # what docs/serve.md sends
        reply = json.load(page)["samples"][0]["completion"]
    replies = [reply, reply.replace("cuda row_sum.cu", "cuda"), reply.replace("(rows, 8)", "(n, 8)")]
    named, unnamed, misfit = server.ask("POST", "/v1/reward", {"samples": [
        {"task": "row-sum-f32", "completion": one} for one in replies]})[1]["rewards"]  # fmt: skip
    expect(named == unnamed and named["outcome"] == "passed", f"one kernel, not {unnamed}")
    expect(misfit["reward"] == -1 and "\"n\"" in misfit["words"], f"a bad plan, not {misfit}")


def check_jobs(server, points):
    request = {"run": "r", "task": TASK, "candidates": points[:5] + points[:1]}
    status, answer, _ = server.ask("POST", "/v1/jobs", request)
    expect(status == 202, f"202, not {answer}")
    keys = answer["keys"]
    expect(len(keys) == 6 and len(set(keys)) == 5 and keys[0] == keys[5], "a key a candidate")
    asked = "/v1/jobs?wait=30&keys=" + ",".join(set(keys))
    done = {}
    while len(done) < 5:
        status, answer, _ = server.ask("GET", asked)
        expect(status == 200, f"states, not {answer}")
        done = {job["key"]: job for job in answer["jobs"] if job["state"] == "done"}
    for job in done.values():
        expect(job["verdict"]["outcome"] == "passed", f"a verdict, not {job}")
    status, answer, _ = server.ask("POST", "/v1/rescore",
                                   {"keys": list(done), "reward": {"form": "log"}})
    expect(status == 200 and all(r["outcome"] == "passed" for r in answer["rewards"]), "rewards")
    expect(server.ask("GET", "/v1/jobs?keys=" + "0" * 64)[1]["jobs"][0]["state"] == "unknown",
           "a key that nobody asked for is unknown")
    bad = {"task": TASK, "candidates": [points[0], {"values": {"tile_m": 0}}]}
    status, answer, _ = server.ask("POST", "/v1/jobs", bad)
    expect(status == 400 and "candidates[1]" in answer["error"]["message"], f"400, not {answer}")


def check_prompts(server, points):
    asked = {"tasks": [TASK], "exemplars": 3}
    status, first, _ = server.ask("POST", "/v1/prompt", asked)
    expect(status == 200 and first["exemplars"] == [], f"nothing to show yet, not {first}")
    expect("Variant" not in first["prompt"] and first["difficulty"]["samples"] == 0, "a first kernel")
    expect("plan.json" in first["prompt"] and "Leave the block out" not in first["prompt"], "a plan")
    samples = [{"task": TASK, "candidate": point, "group": first["group"], "sample_id": str(i),
                "prompt_sha256": first["prompt_sha256"], "logprob_sum": -1.5}
               for i, point in enumerate(points)]  # fmt: skip
    samples.append({"task": TASK, "completion": "no kernel", "group": first["group"], "sample_id": "x"})
    status, rewards, _ = server.ask("POST", "/v1/reward", {"run": "r", "samples": samples})
    expect(status == 200, f"rewards, not {rewards}")
    draws = [server.ask("POST", "/v1/prompt", asked)[1] for _ in range(8)]
    for draw in draws:
        ratios = [one["ratio"] for one in draw["exemplars"]]
        expect(ratios and ratios == sorted(ratios, reverse=True), f"the best first, not {ratios}")
        expect(draw["prompt"].count("## Variant") == len(ratios), "each is shown")
        expect(draw["prompt"].count('{"family":"') == len(ratios), "as a configuration")
        expect(len(draw["prompt"]) < 8_000, f"a short prompt, not {len(draw['prompt'])} characters")
        expect(draw["difficulty"]["mixed_groups"] == 1, f"a group with a spread: {draw['difficulty']}")
    expect(len({draw["group"] for draw in draws}) == 8, "a group a draw")
    expect(len({draw["prompt"] for draw in draws}) > 1, "drawn anew")
    same = [server.ask("POST", "/v1/prompt", asked | {"seed": 5})[1] for _ in range(2)]
    expect(same[0] == same[1], "a seed repeats a draw")
    keys = [one["key"] for one in rewards["rewards"][:-1]]
    shown = next(one for draw in draws for one in draw["exemplars"] if one["key"] in keys)
    copy = {"task": TASK, "candidate": points[keys.index(shown["key"])]}
    plain, copied = server.ask("POST", "/v1/reward", {
        "samples": [copy, copy | {"shown": [shown["key"]]}]})[1]["rewards"]  # fmt: skip
    expect(copied["reward"] == min(plain["reward"], 1), "a copy gains nothing")
    recorded = server.ask("POST", "/v1/prompt", asked | {"from": "recording", "exemplars": 2})[1]
    expect(len(recorded["exemplars"]) == 2, "drawn from the recording")
    expect(recorded["prompt"].count('{"family":"') == 2, "configurations")
    best = recorded["exemplars"][0]
    before = server.ask("GET", "/metrics")[1]
    (scored,) = server.ask("POST", "/v1/rescore", {"keys": [best["key"]]})[1]["rewards"]
    counted = [re.findall(r"(?:rewards|gains)_total.*", text)
               for text in (before, server.ask("GET", "/metrics")[1])]  # fmt: skip
    expect(counted[0] == counted[1], "a rescoring is not counted")
    wrong = server.ask("POST", "/v1/rescore", {"keys": ["nope"]})[1]["error"]["message"]
    expect("keys[0]: expected 64 hex digits" in wrong and '"nope"' in wrong, f"which key: {wrong}")
    expect(scored["ratio"] == best["ratio"] and scored["reward"] > 0, f"a recorded reward: {scored}")
    expect("the one to compile `kernel.cu`" in first["prompt"], "how several files are called")
    for wrong in ({}, {"tasks": ["no-such-task"]}, {"tasks": []}, {"tasks": [TASK], "tau": 0}):
        expect(server.ask("POST", "/v1/prompt", wrong)[0] == 400, f"400 for {wrong}")


def check_dialects(server, points):
    reply = json.dumps(points[0])
    status, answer, _ = server.ask("POST", "/get_reward", {
        "query": ["PROMPT " + reply], "prompts": ["PROMPT "], "labels": [TASK]})
    expect(status == 200 and isinstance(answer["rewards"], float), f"a scalar, not {answer}")
    expect(server.ask("POST", "/seed_session", {"task": TASK})[:2] == (200, {}), "{}")
    row = {"task": TASK, "id": 7, "responses_create_params": {"input": []},
           "response": {"output": [{"type": "message",
                                    "content": [{"type": "output_text", "text": reply}]}]}}
    status, answer, _ = server.ask("POST", "/verify", row)
    expect(status == 200 and answer["mask_sample"] is False, f"a reward, not {answer}")
    expect({**answer, **row} == answer and answer["reward"] > 0, "the row comes back as it was")


def check_routes(server):
    begun = time.monotonic()
    while server.ask("GET", "/readyz")[0] == 503 and time.monotonic() < begun + 20:
        time.sleep(0.02)  # its known good kernel has not run yet
    for path in ("/healthz", "/readyz", "/v1/tasks", "/v1/device", "/openapi.json", "/metrics"):
        expect(server.ask("GET", path)[0] == 200, f"200 from {path}")
    expect("/v1/reward" in server.ask("GET", "/openapi.json")[1]["paths"], "a description")
    tasks = server.ask("GET", "/v1/tasks")[1]["tasks"]
    expect(any(task["name"] == TASK for task in tasks), TASK)
    expect(all(len(set(task["workloads"])) == len(task["workloads"]) for task in tasks), "once")
    for name in ("rewards_total", "gains_total", "gain_signs_total"):
        expect(f"warpsmith_{name}" in server.ask("GET", "/metrics")[1], f"{name} in Prometheus text")


def check_hostile(server):
    for path in ("/", "/v1/../v1/tasks", "/../../etc/passwd", "/v1/tasks/", "/%2e%2e/"):
        expect(server.ask("GET", path)[0] == 404, f"404 from {path}")
    expect(server.ask("GET", "/a%00")[0] == 400, "400 for a control character")
    status, _, headers = server.ask("DELETE", "/v1/jobs")
    expect(status == 405 and headers["Allow"] == "POST, GET", "405 with what is allowed")
    expect(server.ask("GET", "/v1/tasks", Host="evil.example")[0] == 421, "421 for another host")
    expect(server.ask("GET", "/v1/tasks", Origin="http://evil.example")[0] == 403, "403 for a page")
    for body in ("[" * 100_000, "{", '{"samples":[]}', "\xff", "null"):
        status, answer, _ = server.ask("POST", "/v1/reward", body.encode("latin-1"))
        expect(status == 400 and answer["error"]["code"] == "bad-request", "400 for a bad body")
    head = b"POST /v1/reward HTTP/1.1\r\nHost: localhost\r\n"
    expect(b" 413 " in server.say(head + b"Content-Length: 999999999999\r\n\r\n"), "413")
    too_long = server.say(head + b"X: " + b"y" * 40_000 + b"\r\n\r\n")
    # The answer is lost where the end of the connection overtakes it.
    expect(too_long == b"" or b" 431 " in too_long, "431")
    expect(b" 400 " in server.say(head + b"Content-Length: -1\r\n\r\n"), "400 for a wrong length")
    for garbage in (b"\x00" * 100, b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n"):
        first = server.say(garbage)
        expect(first == b"" or b" 400 " in first, f"400 or nothing, not {first}")
    server.say(head + b"Content-Length: 1000\r\n\r\nhalf")
    server.say(head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
    # Slow clients hold connections; others are served meanwhile.
    slow = []
    for i in range(300):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        client.sendall(head[:20 + i % 20])
        slow.append(client)
    expect(server.ask("GET", "/healthz")[0] == 200, "service beside slow clients")
    for client in slow:
        client.close()
    for _ in range(2000):
        server.say(b"G", hears=False)
    expect(server.ask("GET", "/healthz")[0] == 200, "service after many connections")


def check_lengths(server):
    """What a proxy and a server might read differently is one request or none, never two."""
    head = b"POST /v1/reward HTTP/1.1\r\nHost: localhost\r\n"
    hidden = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    count = b"Content-Length: %d\r\n" % len(hidden)
    for lengths in (b"Content-Length: 0\r\n" + count, count + b"Transfer-Encoding: chunked\r\n",
                    b"Transfer-Encoding: chunked\r\n" + count, b"Content-Length: 1e9\r\n",
                    b"Content-Length: 99999999999999999999\r\n", b"Content-Length: \r\n",
                    b"Transfer-Encoding: chunked, gzip\r\n"):
        data = server.say(head + lengths + b"\r\n0\r\n\r\n" + hidden)
        expect(b" 200 " not in data, f"no answer to what {lengths} hides, but {data}")
    # Too short: what is left over is a request of its own, and no HTTP.
    expect(b" 400 " in server.say(head + b"Content-Length: 2\r\n\r\n{}{}"), "400 for the first")
    for chunk in (b"fffffffffffffffff\r\n", b"-1\r\n", b"400001\r\n" + b"x" * 64):
        server.say(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)


def check_many_connections(server):
    """Ten thousand at once: a thousand are served, the others are sent away, and all are let go."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = limit[1] if limit[1] != resource.RLIM_INFINITY else 20_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), limit[1]))
    clients = []
    for i in range(min(10_000, most - 200)):
        try:
            client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            client.sendall(b"POST /v1/reward HTTP/1.1\r\nContent-Length: 1000\r\n"[: 1 + i % 50])
        except OSError:
            continue  # sent away before it could say a word
        clients.append(client)
    expect(server.process.poll() is None, "a server that lives")
    expect(server.open_files() < 1_200, f"a bound, not {server.open_files()} files")
    for client in clients:
        client.close()
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            if server.ask("GET", "/healthz")[0] == 200:
                return
        except OSError:
            continue
    expect(False, "service when they are gone")


def check_nothing_leaks(server):
    """Files and memory after each round of bad clients are those after the first."""
    def round():
        check_hostile(server)
        check_lengths(server)
        time.sleep(0.3)  # the server sees the last ones go
        return server.open_files(), server.memory_mb()

    files, memory = round()
    again = [round() for _ in range(2)][-1]
    expect(again[0] <= files + 5, f"{files} open files, not {again[0]}")
    expect(again[1] < memory + 40, f"{memory:.0f} MB of memory, not {again[1]:.0f}")
    check_many_connections(server)
    expect(server.open_files() <= files + 5, f"{files} open files, not {server.open_files()}")
    expect(server.memory_mb() < 600, f"bounded memory, not {server.memory_mb():.0f} MB")


def check_token():
    with open("token", "w") as token:
        token.write(TOKEN + "\n")
    server = Server("--token-file", "token", "--reward", "form=log", store="t.db")
    expect(server.ask("GET", "/healthz")[0] == 200, "health without a token")
    expect(server.ask("GET", "/v1/tasks")[0] == 401, "401 without a token")
    expect(server.ask("GET", "/v1/tasks", Authorization="Bearer " + TOKEN[:-1])[0] == 401, "401")
    expect(server.ask("GET", "/v1/tasks", Authorization="Bearer " + TOKEN)[0] == 200, "200")
    expect(server.ask("GET", f"/t/{TOKEN}/v1/tasks")[0] == 200, "the token in the path")
    expect(server.ask("GET", "/t/wrong/v1/tasks")[0] == 401, "401 for another one in the path")
    server.end()


def main():
    points = read_points()
    server = Server()
    check_routes(server)
    check_prompts(server, points)
    check_rewards(server, points)
    check_jobs(server, points)
    check_dialects(server, points)
    check_nothing_leaks(server)
    server.end()
    check_token()


if __name__ == "__main__":
    os.environ.pop("http_proxy", None)
    main()
