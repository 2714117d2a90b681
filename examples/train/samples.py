"""What a model writes for each shape, and what the server says of it: a row for each shape."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import torch

from warpsmith.train.policy import Policy, evaluations_to, geometric_mean

FAILED = -1.0  # what a reply that is not measured counts: it is no kernel that anybody could use


def row_of(known: dict[str, float], texts: list[str], answers: list[dict]) -> dict:
    """Rates over all samples. `share_of_best` counts what did not pass as 0."""
    count, best = len(texts), max(known.values())
    ratios = [answer["ratio"] for answer in answers if answer["outcome"] == "passed"]
    rewards = [FAILED if answer["reward"] is None else answer["reward"] for answer in answers]
    return {
        "samples": count,
        "distinct": len(set(texts)),
        "passed": round(len(ratios) / count, 4),
        "unmeasured": round(sum(answer["reward"] is None for answer in answers) / count, 4),
        "reward": round(sum(rewards) / count, 4),
        "share_of_best": round(sum(ratios) / best / count, 4),
        "geomean": round(geometric_mean(ratios), 4),
        "fast_1": round(sum(ratio > 1 for ratio in ratios) / count, 4),
        "fast_1.1": round(sum(ratio > 1.1 for ratio in ratios) / count, 4),
        "within_5_percent": round(sum(ratio >= 0.95 * best for ratio in ratios) / count, 4),
    }


def write(path: Path, folder: Path, corpus, judge, options, seed: int, when: str) -> None:
    """Rows of all shapes. On shapes that were held out also how many kernels of the space are
    measured, the likeliest first, until one is 95 % or 99 % as fast as its best."""
    if path.exists():
        return
    policy = Policy(folder, "cuda" if options.gpu else "cpu")
    torch.manual_seed(seed)
    draws = random.Random(seed)
    rows = []
    for split, shapes in (("trained", corpus.spaces), ("held-out", corpus.held_out)):
        for shape in sorted(shapes):
            known = shapes[shape]
            asked = [corpus.question(shape, draws) for _ in range(options.samples)]
            texts = policy.write([question["prompt"] for question in asked])
            answers = judge.rewards([{"task": f"hgemm:{shape}:TN", "completion": t} for t in texts])
            for question, text, answer in zip(asked, texts, answers):
                if text in question["shown"]:  # a copy is nobody's find
                    answer.update(outcome="copied", reward=FAILED)
            row = {"seed": seed, "after": when, "shapes": split, "shape": shape}
            row |= row_of(known, texts, answers)
            for share in (95, 99):
                row[f"evaluations_{share}"] = ""
            if split == "held-out" and not corpus.exemplars:
                order = policy.order(asked[0]["prompt"], list(known))
                in_order = [list(known.values())[index] for index in order]
                for share in (95, 99):
                    row[f"evaluations_{share}"] = evaluations_to(in_order, share / 100)
            rows.append(row)
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    part.rename(path)
