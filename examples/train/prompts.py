"""Prompts of a server as rows that verl.sh and openrlhf.sh read.

    python examples/train/prompts.py --judge http://HOST:8321 --tasks TASK,TASK#WORKLOAD \
      --count 4096 -o train.jsonl

Without --tasks: all that the server judges. A task's variants are drawn when its row is written; for
prompts that follow the policy, give TRL `Judge.prompts` instead of a file.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from warpsmith_rewards import Judge, Refused, Unreachable


def row_of(drawn: dict) -> dict:
    """verl reads reward_model, OpenRLHF label."""
    truth = f"{drawn['task']}#{drawn['workload']}"
    return {"prompt": [{"role": "user", "content": drawn["prompt"]}], "label": truth,
            "data_source": "warpsmith", "reward_model": {"style": "rule", "ground_truth": truth},
            "extra_info": {"prompt_sha256": drawn["prompt_sha256"], "shown": drawn["shown"]}}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--judge", required=True, metavar="URL", help="address of `warpsmith serve`")
    add("--token-file", type=Path)
    add("--tasks", type=lambda text: text.split(","))
    add("--count", type=int, default=1024, help="rows")
    add("--exemplars", type=int, help="scored variants in a prompt, where there are any")
    add("--stage", type=int, help="3: with a profile of the best")
    add("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    judge = Judge(options.judge, token_file=options.token_file)
    tasks = options.tasks or [task["name"] for task in judge.tasks()]
    asked = {name: value for name in ("exemplars", "stage") if (value := getattr(options, name))}
    with options.out.open("w") as file:
        for drawn in itertools.islice(judge.prompts(tasks, **asked), options.count):
            file.write(json.dumps(row_of(drawn)) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (Refused, Unreachable) as trouble:
        sys.exit(f"prompts.py: {trouble}")
