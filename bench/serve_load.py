"""Rewards a second of `warpsmith serve` on a recording, and how long a client waits:
serve_load.py PROGRAM POINTS [CLIENTS] [SECONDS] [SAMPLES A REQUEST]. POINTS is the output of
`warpsmith hgemm show 512x512x512 --device recorded --top 1500`. One process with a socket a client;
each asks again when its answer is whole. It shares the machine's cores with the server."""

import json
import os
import pathlib
import random
import selectors
import socket
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "program"))
sys.argv, (program, points_file, *rest) = sys.argv[:2], sys.argv[1:]
import serve_client  # noqa: E402

STARTS = 21
CLIENTS, SECONDS, SAMPLES = ([int(text) for text in rest] + [64, 10, 1][len(rest):])


def requests(points):
    draw = random.Random(1)
    made = []
    for _ in range(4000):
        samples = [{"task": serve_client.TASK, "group": "g",
                    "completion": "```json\n" + json.dumps(draw.choice(points)) + "\n```"}
                   for _ in range(SAMPLES)]
        body = json.dumps({"run": "load", "samples": samples}).encode()
        made.append(b"POST /v1/reward HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
                    b"\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    return made


def is_whole(data):
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return False
    at = data.find(b"Content-Length: ") + 16
    return len(data) >= end + 4 + int(data[at:data.find(b"\r\n", at)])


def load(server, made, seconds):
    selector = selectors.DefaultSelector()
    draw = random.Random(2)
    for _ in range(CLIENTS):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(draw.choice(made))
        selector.register(client, selectors.EVENT_READ, [b"", time.perf_counter()])
    waits, began = [], time.perf_counter()
    while time.perf_counter() - began < seconds:
        for key, _ in selector.select(1):
            state = key.data
            state[0] += key.fileobj.recv(1 << 18)
            if not is_whole(state[0]):
                continue
            serve_client.expect(state[0].startswith(b"HTTP/1.1 200"), f"200, not {state[0][:200]}")
            now = time.perf_counter()
            waits.append(now - state[1])
            state[0], state[1] = b"", now
            key.fileobj.sendall(draw.choice(made))
    return sorted(waits), time.perf_counter() - began


def start(store):
    """A server, the seconds until it was ready, and those of a core that it used."""
    began = time.perf_counter()
    server = serve_client.Server(store=store)
    while server.ask("GET", "/readyz")[0] != 200:
        continue
    ready = time.perf_counter() - began
    stat = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return server, ready, sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK")


def main():
    points = serve_client.read_points(points_file)
    with tempfile.TemporaryDirectory() as folder:
        for what, name in (("new", "{}.db"), ("existing", "0.db")):
            taken = []
            for i in range(STARTS):
                server, *seconds = start(f"{folder}/{name.format(i)}")
                server.end()
                taken.append(seconds)
            ready, used = zip(*taken)
            print(f"{what} store: {STARTS} starts, ready after {statistics.median(ready):.3f} s "
                  f"({min(ready):.3f} to {max(ready):.3f}); {statistics.median(used):.2f} s CPU")
        server = start(folder + "/s.db")[0]
        made = requests(points)
        print(f"points {len(points)}, clients {CLIENTS}, samples a request {SAMPLES}, "
              f"cores {os.cpu_count()}, load {os.getloadavg()[0]:.1f}")
        for what in ("first", "again"):  # the first round reads the recording
            waits, seconds = load(server, made, SECONDS)
            at = [1000 * waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99, 1)]
            print(f"{what}: {len(waits) * SAMPLES / seconds:.0f} rewards/s, "
                  f"{len(waits) / seconds:.0f} requests/s, p50 {at[0]:.1f} ms, p99 {at[1]:.1f} ms, "
                  f"max {at[2]:.1f} ms")
        print(f"memory {server.memory_mb():.0f} MB; the server's own count:")
        counted = server.ask("GET", "/metrics")[1].splitlines()
        print("\n".join(line for line in counted if "rewards_total{" in line))
        server.end()


main()
