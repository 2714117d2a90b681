"""Drives `warpsmith mcp` as a client would: mcp_client.py PROGRAM STORE, in a folder with best/."""

import json
import subprocess
import sys

from serve_client import expect

PROGRAM, STORE = sys.argv[1:]


class Server:
    """One server on two pipes."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "mcp", "hgemm:512x512x512:TN", "--device", "recorded", "--store", STORE,
             "--candidate", "best", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.asked = 0
        self.progress = []
        reply = self.ask("initialize", protocolVersion="2025-06-18", capabilities={},
                         clientInfo={"name": "test", "version": "1"})
        expect(reply["result"]["protocolVersion"] == "2025-06-18", "the version that was asked for")
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def say(self, message):
        self.write(json.dumps(message).encode())

    def hear(self):
        line = self.process.stdout.readline()
        expect(line, "an answer, not the end of stdout")
        message = json.loads(line)  # whatever is not the protocol fails here
        expect(message.get("jsonrpc") == "2.0", f"a JSON-RPC message, not {line!r}")
        return message

    def ask(self, method, **params):
        self.asked += 1
        self.say({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        while True:
            message = self.hear()
            if message.get("id") == self.asked:
                return message
            expect(message.get("method") == "notifications/progress", f"progress, not {message}")
            self.progress.append(message["params"])

    def call(self, tool, **arguments):
        """(whether it is an error, the structure or the text)"""
        reply = self.ask("tools/call", name=tool, arguments=arguments,
                         _meta={"progressToken": "p"})
        expect("result" in reply, f"a result of {tool}, not {reply}")
        result = reply["result"]
        text = result["content"][0]["text"]
        if "structuredContent" not in result:
            return result["isError"], text
        expect(json.loads(text) == result["structuredContent"], "the structure as text, too")
        return result["isError"], result["structuredContent"]

    def end(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        expect(rest == b"", f"nothing after the last answer, not {rest!r}")
        expect(self.process.wait(timeout=30) == 0, "exit status 0 at the end of input")


def check_malformed(server):
    for line, code in [(b"{", -32700), (b"\xff", -32700), (b"[" * 5000, -32700), (b"7", -32600),
                       (b'{"jsonrpc":"2.0","id":"x","method":"no/such"}', -32601),
                       (b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":'
                        b'{"name":"rm"}}', -32602),
                       (b'{"x":"' + b"y" * (17 << 20) + b'"}', -32600)]:
        server.write(line)
        reply = server.hear()
        expect(reply["error"]["code"] == code, f"{code} for {line[:40]!r}, not {reply}")


def check_judging(server):
    _, task = server.call("read_task")
    for part in ["# Task hgemm-TN", "the product A * B", '"base": "start"', "wgmma"]:
        expect(part in task, f"{part!r} in the task")
    failed, start = server.call("evaluate_candidate", base="start")
    expect(not failed and start["passed"] and start["verdict"] == "run:agent#0", f"{start}")
    expect(start["times"][0]["time_us"] > 0 and start["ratio_to_bar"] > 0.5, f"times in {start}")
    # Sent whole, with nothing of the base: the same content, so the same candidate.
    best = json.load(open("best/candidate.json", encoding="utf-8"))
    failed, whole = server.call("evaluate_candidate", sources=best["sources"], plan=best["plan"],
                                entry=best["entry"], tokens_used=500)
    expect(not failed and whole["candidate"] == start["candidate"], "the same candidate")
    expect(any(note["message"] == "compiling" for note in server.progress), "progress")
    failed, words = server.call("evaluate_candidate", base="start",
                                edits=[{"file": "hgemm.cu", "search": "extern",
                                        "replace": "/* new */ extern"}])
    expect(failed and "holds no verdict" in words, f"a replay's refusal, not {words}")
    for arguments in [{"sources": {"../../x.cu": ""}}, {"base": "run:nobody#0"}, {"flags": ["-o"]},
                      {"base": "start", "edits": [{"file": "x.cu", "search": "", "replace": ""}]}]:
        failed, words = server.call("evaluate_candidate", **arguments)
        expect(failed and isinstance(words, str), f"a refusal of {arguments}, not {words}")
    return start


def check_knowledge(server, other):
    failed, answer = server.call("record_outcome", verdict=other, base="run:agent#0",
                                 state="tail", technique="split-k")
    expect(not failed and answer["new"] and answer["gain"] != 1, f"an outcome, not {answer}")
    _, again = server.call("record_outcome", verdict=other, base="run:agent#0", state="tail",
                           technique="split-k")
    expect(again["new"] is False, "the same outcome to count once")
    for arguments in [{"verdict": "run:agent#77"}, {"verdict": "run:agent#0"},
                      {"verdict": other, "gain": 9}, {"verdict": other, "state": "made-up"}]:
        failed, words = server.call("record_outcome", **{"base": "run:agent#0", "state": "tail",
                                                        "technique": "split-k", **arguments})
        expect(failed, f"{arguments} to be refused, not {words}")
    failed, _ = server.call("add_note", text="few blocks", state="tail", verdict=other)
    expect(not failed, "a note to be kept")
    _, recollection = server.call("query_knowledge", state="tail", draw=2, budget_bytes=4000)
    expect("here: 1 measured" in recollection, f"the outcome in {recollection}")
    expect('"few blocks"' in recollection, f"the note in {recollection}")
    expect(recollection.count("drawn") == 2, f"two draws in {recollection}")


def main():
    server = Server("--run", "agent", "--budget", "evals=3")
    tools = server.ask("tools/list")["result"]["tools"]
    expect(len(tools) == 9 and all(tool["inputSchema"]["type"] == "object" for tool in tools),
           "nine tools with schemas")
    check_malformed(server)
    start = check_judging(server)
    # An outcome is of any verdict in the store: here one of the tuning's.
    slower = next(step for step in range(40)
                  if server.call("read_verdict", verdict=f"run:tuned/512x512x512#{step}")[1]
                  ["candidate"] != start["candidate"])
    check_knowledge(server, f"run:tuned/512x512x512#{slower}")
    failed, certified = server.call("evaluate_candidate", base="run:agent#0", certify=True)
    expect(not failed and certified["level"] == "certified", f"a certified verdict: {certified}")
    failed, words = server.call("evaluate_candidate", base="start")
    expect(failed and "the budget (evals)" in words, f"the budget to hold, not {words}")
    _, best = server.call("best_so_far")
    expect(best["certified"]["verdict"] == certified["verdict"] and best["judged"] == 2, f"{best}")
    expect("hgemm.cu" in best["screened"]["sources"], "the best's sources")
    server.end()

    # Gone on with: what was spent stays spent, and what was judged is there.
    server = Server("--resume", "agent", "--budget", "evals=4")
    _, budget = server.call("budget_left")
    expect(budget["limits"]["evaluations"] == {"limit": 4, "spent": 3, "left": 1}, f"{budget}")
    expect(budget["limits"]["tokens"]["spent"] == 500, f"the tokens in {budget}")
    failed, answer = server.call("evaluate_candidate", base="run:agent#0")
    expect(not failed and answer["verdict"] == "run:agent#2", f"the run to go on: {answer}")
    server.end()


main()
