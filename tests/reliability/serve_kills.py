"""Kills `warpsmith serve` at random instants and counts what was lost:
serve_kills.py PROGRAM POINTS COUNT [SEED]. POINTS is the output of `hgemm show`.

Every key that was acknowledged (202) has to be done in the end, once, with a verdict."""

import http.client
import json
import os
import pathlib
import random
import sqlite3
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "program"))
import serve_client  # noqa: E402

TASK = "hgemm:512x512x512:TN"
STORE = "kills.db"


def submit(server, points, draw, acknowledged, stop):
    """Batches until the server is gone; keys count only when the answer was read whole."""
    while not stop.is_set():
        batch = draw.sample(points, 4)
        # One that was not recorded, too: another way through.
        batch.append({"source": f"// {draw.random()}", "plan": PLAN})
        try:
            status, answer, _ = server.ask(
                "POST", "/v1/jobs", {"run": "kills", "task": TASK, "candidates": batch})
        except (OSError, http.client.HTTPException, ValueError):
            return
        if status == 202:
            acknowledged.update(answer["keys"])


PLAN = {"version": 1, "operations": [
    {"type": "memset", "target": "C", "value": 0, "bytes": "2 * M * N"}]}


def main():
    points = serve_client.read_points(sys.argv[2])
    count = int(sys.argv[3])
    draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    for suffix in ("", "-wal", "-shm"):
        pathlib.Path(STORE + suffix).unlink(missing_ok=True)
    acknowledged = set()
    for _ in range(count):
        server = serve_client.Server(store=STORE)
        stop = threading.Event()
        client = threading.Thread(
            target=submit, args=(server, points, draw, acknowledged, stop))
        client.start()
        stop.wait(draw.uniform(0.01, 0.4))  # the instant is what is drawn, nothing is waited for
        server.process.kill()
        server.process.wait()
        stop.set()
        client.join()
    server = serve_client.Server(store=STORE)
    open_keys = sorted(acknowledged)
    while open_keys:
        asked = "/v1/jobs?wait=30&keys=" + ",".join(open_keys[:200])
        states = server.ask("GET", asked)[1]["jobs"]
        for job in states:
            serve_client.expect(job["state"] != "unknown", f"{job['key']}, which was acknowledged")
        done = {job["key"] for job in states if job["state"] == "done"}
        open_keys = [key for key in open_keys if key not in done]
    server.end()
    with sqlite3.connect(f"file:{STORE}?mode=ro", uri=True) as store:
        doubled = store.execute("SELECT count(*) FROM (SELECT key FROM verdict GROUP BY key "
                                "HAVING count(*) > 1)").fetchone()[0]
        given_up = store.execute("SELECT count(*) FROM verdict WHERE outcome = 'run-failed'"
                                 ).fetchone()[0]
        late = store.execute("SELECT count(*) FROM late_verdict").fetchone()[0]
    print(json.dumps({"kills": count, "acknowledged": len(acknowledged), "lost": 0,
                      "doubled": doubled, "given_up": given_up, "late": late}))
    serve_client.expect(acknowledged, "something to be acknowledged between the kills")
    serve_client.expect(doubled == 0, "no verdict twice")


if __name__ == "__main__":
    os.environ.pop("http_proxy", None)
    main()
