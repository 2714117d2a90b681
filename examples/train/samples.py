"""What a model writes for each shape, and what the server says of it: a row for each shape."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import torch

from warpsmith.train.evaluate import FAILED, TARGETS, evaluations_to, row_of
from warpsmith.train.policy import Policy


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
            known = corpus.whole.get(shape, shapes[shape])
            asked = [corpus.question(shape, draws) for _ in range(options.samples)]
            texts = policy.write([question["prompt"] for question in asked])
            answers = judge.rewards([{"task": f"hgemm:{shape}:TN", "completion": t} for t in texts])
            for question, text, answer in zip(asked, texts, answers):
                if text in question["shown"]:  # a copy is nobody's find
                    answer.update(outcome="copied", reward=FAILED)
            row = {"seed": seed, "after": when, "shapes": split, "shape": shape}
            row |= row_of(known, texts, answers)
            row |= {f"evaluations_{target}": "" for target in TARGETS}
            if split == "held-out" and not corpus.exemplars:
                order = policy.order(asked[0]["prompt"], list(known))
                in_order = [list(known.values())[index] for index in order]
                for target in TARGETS:
                    found = evaluations_to(in_order, max(in_order), target / 100)
                    row[f"evaluations_{target}"] = found
            rows.append(row)
    part = path.with_suffix(".part")
    with part.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    part.rename(path)
