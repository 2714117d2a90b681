"""A Ray cluster of several nodes on one machine, and on it a fleet of judges of a recording."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from urllib.request import urlopen

from serving import CHECKOUT, PROGRAM, environment

import ray
from ray import serve
from ray.cluster_utils import Cluster

from warpsmith_fleet import app
from warpsmith_rewards import Judge


class FleetWorld:
    """`nodes` nodes beside the head, each with one judge."""

    token = "0123456789abcdef"

    def __init__(self, nodes: int, device: str = "recorded", limit_s: float = 30, **more):
        self.folder = tempfile.mkdtemp(prefix="fleet-")
        own = environment(self.folder) | {"PYTHONPATH": str(CHECKOUT / "python")}
        os.environ.update(own)
        # A name of its own, so that only this fleet's judges are found.
        self.program = Path(self.folder) / f"warpsmith-{os.getpid()}"
        self.program.symlink_to(PROGRAM.resolve())
        head = {"num_cpus": 2, "num_gpus": 0, "include_dashboard": False}
        self.cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
        self.nodes = []
        for _ in range(nodes):
            self.add_node()
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="error")
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        serve.start(http_options={"host": "127.0.0.1", "port": port, "location": "HeadOnly"})
        token_file = Path(self.folder) / "token"
        token_file.write_text(self.token + "\n")
        serve.run(
            app({"replicas": nodes, "resource": "judge", "program": str(self.program),
                 "arguments": ["--device", device, "--quiet"], "limit_s": limit_s,
                 "token_file": str(token_file), "results": f"{self.folder}/results.db", **more})
        )  # fmt: skip
        self.url = f"http://127.0.0.1:{port}"
        self.judge = Judge(self.url, token_file=token_file, patience_s=300)

    def add_node(self) -> None:
        self.nodes.append(self.cluster.add_node(num_cpus=2, resources={"judge": 1}))

    def remove_node(self) -> None:
        """As by a power cut: its processes get SIGKILL."""
        self.cluster.remove_node(self.nodes.pop(0), allow_graceful=False)

    def judges(self) -> list[int]:
        """The process ids of the judges, which are `warpsmith serve`."""
        command = ["pgrep", "-f", "--", f"^{self.program} serve"]
        found = subprocess.run(command, capture_output=True, text=True)
        return [int(line) for line in found.stdout.split()]

    def replicas(self) -> list[int]:
        """The process ids of Ray's processes around the judges: each judge's parent."""
        found = []
        for pid in self.judges():
            try:
                found.append(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]))
            except OSError:
                continue  # it ended just now
        return [pid for pid in found if pid > 1]

    def count_answers(self) -> int:
        """The rows of the file of results that hold an answer to a job."""
        with sqlite3.connect(f"{self.folder}/results.db") as base:
            return base.execute("SELECT count(answer) FROM work").fetchone()[0]

    def metrics(self) -> dict[str, float]:
        with urlopen(f"{self.url}/t/{self.token}/metrics") as reply:
            text = reply.read().decode()
        return {name: float(value) for name, value in map(str.split, text.splitlines())}

    def close(self) -> None:
        self.judge.close()
        serve.shutdown()
        ray.shutdown()
        self.cluster.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)
