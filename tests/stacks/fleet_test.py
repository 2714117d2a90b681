"""A fleet of judges on a Ray cluster of several nodes, all of them on this machine's CPU."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest

from serving import CHECKOUT, SERVE, TASK, candidate, environment, points, reply

import ray
from ray import serve
from ray.cluster_utils import Cluster

from warpsmith_fleet import app
from warpsmith_rewards import Judge, Refused


def children() -> list[int]:
    """The judges' processes, which are `warpsmith serve` (or what stands in its place)."""
    pattern = f"{SERVE[0]} serve"
    found = subprocess.run(["pgrep", "-f", "--", pattern], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="fleet-")
        own = environment(cls.folder.name) | {"PYTHONPATH": str(CHECKOUT / "python")}
        os.environ.update({name: value for name, value in own.items() if name != "PATH"})
        cls.cluster = Cluster(initialize_head=True, connect=False,
                              head_node_args={"num_cpus": 2, "num_gpus": 0, "include_dashboard": False})  # fmt: skip
        cls.nodes = [cls.cluster.add_node(num_cpus=2, resources={"judge": 1}) for _ in range(2)]
        ray.init(address=cls.cluster.address, log_to_driver=False)
        port = free_port()
        serve.start(http_options={"host": "127.0.0.1", "port": port, "location": "HeadOnly"})
        token = os.path.join(cls.folder.name, "token")
        with open(token, "w") as file:
            file.write("0123456789abcdef\n")
        serve.run(app({"replicas": 2, "resource": "judge", "program": str(SERVE[0]), "limit_s": 30,
                       "arguments": ["--device", "recorded"], "token_file": token,
                       "results": os.path.join(cls.folder.name, "results.db")}))  # fmt: skip
        cls.judge = Judge(f"http://127.0.0.1:{port}", token_file=token, patience_s=60)
        cls.url = f"http://127.0.0.1:{port}"
        cls.rows = points()

    def test_x(self):
        (a,) = self.judge.rewards([{"task": TASK, "completion": reply(self.rows[0]["point"])}])
        print(a)

if __name__ == "__main__":
    unittest.main()
