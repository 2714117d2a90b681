"""Judges on many GPUs behind one address: `warpsmith serve`, once a GPU, on a Ray cluster.

    python -m warpsmith_fleet up --replicas 8

`app` is the same for `serve deploy` and KubeRay: import_path warpsmith_fleet:app. A trainer talks
to it as to one `warpsmith serve`. Needs ray[serve], in a cluster of its own: trainers pin Ray.
"""

from __future__ import annotations

from ray import serve

from warpsmith_fleet.ingress import Ingress
from warpsmith_fleet.worker import Worker

__all__ = ["app"]


def app(options: dict) -> serve.Application:
    """The application. Options, of which none must be given:

    replicas     judges; each has one GPU to itself, or one `resource`
    resource     a custom resource of the cluster in place of a GPU, for judges on recordings
    program      the path of `warpsmith` on every node
    arguments    more arguments of `warpsmith serve`
    limit_s      a judge that has not answered after this long is killed
    results      file on the head node in which accepted jobs and their verdicts are kept
    token_file   file on the head node that holds the token that clients must send
    candidates_a_call  that a judge gets at a time, to compile them beside each other
    longest_queue  candidates in line, beyond which clients are told to come back later
    """
    replicas, resource = int(options.get("replicas", 1)), options.get("resource")
    needs = {"num_cpus": 1, "num_gpus": 0 if resource else 1}
    needs["resources"] = {resource: 1} if resource else {}
    # One call at a time: a judge that dies takes no more than one call with it.
    workers = Worker.options(num_replicas=replicas, ray_actor_options=needs).bind(
        options.get("program", "warpsmith"),
        list(options.get("arguments", [])),
        float(options.get("limit_s", 900)),
    )
    return Ingress.bind(
        workers,
        results=options.get("results", "warpsmith-fleet.db"),
        token_file=options.get("token_file"),
        longest_queue=int(options.get("longest_queue", 4096)),
        candidates_a_call=int(options.get("candidates_a_call", 8)),
        replicas=replicas,
    )
