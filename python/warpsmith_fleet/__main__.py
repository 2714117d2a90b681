"""Starts a fleet of judges: python -m warpsmith_fleet up --replicas 8"""

from __future__ import annotations

import argparse
import os
import signal
import sys

import ray
from ray import serve

from warpsmith_fleet import app


def options_of(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m warpsmith_fleet",
        epilog="`serve status` shows the judges; `serve shutdown` ends them",
    )
    up = parser.add_subparsers(required=True).add_parser(
        "up", help="start the judges, or change how many there are"
    )
    up.add_argument("--replicas", type=int, default=1, help="judges, one GPU each (default 1)")
    up.add_argument("--listen", default="127.0.0.1:8321", help="HOST:PORT (default %(default)s)")
    up.add_argument("--token-file", help="needed for every address but 127.0.0.1")
    up.add_argument("--address", help="of the Ray cluster (default: the one here, else a new one)")
    up.add_argument("--program", default="warpsmith", help="its path on every node")
    up.add_argument("--resource", help="a custom resource in place of a GPU, for recordings")
    up.add_argument("--results", default=os.path.abspath("warpsmith-fleet.db"),
                    help="file on the head node (default %(default)s)")  # fmt: skip
    up.add_argument("--limit-s", type=float, default=900, help="for a call; beyond it: killed")
    up.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="of warpsmith serve")
    return parser.parse_args(arguments)


def main() -> None:
    options = options_of(sys.argv[1:])
    host, _, port = options.listen.rpartition(":")
    if host not in ("127.0.0.1", "localhost") and not options.token_file:
        sys.exit(f"--listen {options.listen} is open to others: give --token-file too")
    ray.init(address=options.address, log_to_driver=False)
    needs = options.resource or "GPU"
    there = ray.cluster_resources().get(needs, 0)
    if there < options.replicas:
        print(f"waiting for {options.replicas} {needs}; the cluster has {there:g}. Judges on "
              """recordings need no GPU: ray start --head --resources '{"judge": 2}', then """
              "--resource judge", file=sys.stderr, flush=True)  # fmt: skip
    serve.start(http_options={"host": host, "port": int(port), "location": "HeadOnly"})
    serve.run(app(vars(options)), name="warpsmith")
    print(f"listening on http://{options.listen}", flush=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        signal.pause()
    finally:
        serve.shutdown()


if __name__ == "__main__":
    main()
