"""Recorded kernels, and which shapes a seed may not see."""

from __future__ import annotations

import csv
import gzip
import json
import random
import statistics
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.train.evaluate import space_of
from warpsmith.train.kernel_text import (
    MOST_WORDS,
    alike,
    point_of,
    prompt_of,
    text_of,
    without_defaults,
)


TUNING = ("foretold_h200.csv.gz", "repeats_h200.csv.gz", "retune_h200.csv.gz", "k128_h200.csv")

Kernels = dict[str, dict[str, float]]  # shape -> kernel's text -> ratio to the baseline


def with_means(shapes: dict[str, dict[str, list[float]]]) -> Kernels:
    return {shape: {text: statistics.mean(ratios) for text, ratios in known.items()}
            for shape, known in shapes.items()}  # fmt: skip


def shipped_kernels(folder: Path, program: str, device: Path, shapes: list[str]) -> Kernels:
    """The spaces of these shapes that a recording holds, and the tuning rows in `folder`."""
    kernels: dict[str, dict[str, list[float]]] = {}
    for name in TUNING:
        opened = gzip.open if name.endswith(".gz") else open
        with opened(folder / f"hgemm_{name}", "rt") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                text = text_of(without_defaults(point_of(row["kernel"])))
                known = kernels.setdefault(row["shape"], {})
                known.setdefault(text, []).append(float(row["ratio_to_cublaslt"]))
    return with_means(kernels) | whole_spaces(program, device, shapes)


def whole_spaces(program: str, device: Path, shapes: list[str]) -> Kernels:
    return {shape: space_of(program, device, shape) for shape in shapes}


def read_kernels(path: Path) -> Kernels:
    """The measured kernels in rows of `python -m warpsmith.train data`."""
    shapes: dict[str, dict[str, list[float]]] = {}
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                if row["kind"] != "variant" or not row.get("point") or not row.get("measured"):
                    continue
                where, ratio = row["shape"], float(row["measured"]["ratio"])
                if (where["layout"], where["dtype"]) != ("TN", "f16") or not ratio > 0:
                    continue
                text = text_of(without_defaults(row["point"]))
                known = shapes.setdefault(f"{where['m']}x{where['n']}x{where['k']}", {})
            except (KeyError, TypeError, ValueError) as error:
                raise SystemExit(f"{path}:{number}: no row of `train data`: {error!r}") from None
            known.setdefault(text, []).append(ratio)
    if not shapes:
        raise SystemExit(f"{path}: holds no measured kernel of a matrix product (TN, f16)")
    return with_means(shapes)


def held_out_of(shapes: list[str], seed: int, folds: int = 5) -> list[str]:
    """One part of the shapes. As many seeds as there are folds hold out each shape once; the next
    ones deal the shapes anew."""
    groups = sorted({alike(shape) for shape in shapes})
    random.Random((seed - 1) // folds).shuffle(groups)
    mine = set(groups[(seed - 1) % folds :: folds])
    return [shape for shape in shapes if alike(shape) in mine]


@dataclass
class Corpus:
    """What one seed learns from. `others`: (shape, kernel) of tuning rows of other shapes.

    Tuning rows are used where some recorded space of the training has that very configuration: the
    recordings cannot answer for others. With one fold all spaces are held out, and the rows whose
    configurations are points of them are used.
    """

    spaces: dict[str, dict[str, float]]  # to train on
    held_out: dict[str, dict[str, float]]
    others: list[tuple[str, str]]
    exemplars: int = 0  # scored kernels in a prompt
    whole: Kernels = field(default_factory=dict)  # what is recorded, where the spaces are a part of it

    @classmethod
    def of_seed(cls, kernels: dict, recorded: list[str], seed: int, exemplars: int = 0,
                folds: int = 5) -> Corpus:  # fmt: skip
        hidden = held_out_of(recorded, seed, folds)
        names = {alike(shape) for shape in hidden}
        spaces = {shape: kernels[shape] for shape in recorded if shape not in hidden}
        answered = set().union(*(spaces or {shape: kernels[shape] for shape in hidden}).values())
        others = [(shape, text) for shape, known in kernels.items()
                  if shape not in recorded and alike(shape) not in names
                  for text in known if text in answered]  # fmt: skip
        return cls(spaces, {shape: kernels[shape] for shape in hidden}, others, exemplars)

    def answered(self) -> Kernels:
        """All that the server can answer of the training's shapes."""
        return {shape: self.whole.get(shape, known)
                for shape, known in (self.spaces or self.held_out).items()}  # fmt: skip

    def known(self, shape: str) -> dict[str, float]:
        return self.spaces.get(shape) or self.held_out[shape]

    def question(self, shape: str, draws: random.Random) -> dict:
        """A row for the trainer: prompt, task, and the kernels that the prompt shows.

        Exemplars are drawn as in CUDA-L1, from different buckets of scores.
        """
        shown: list[tuple[str, float]] = []
        if self.exemplars and (shape in self.spaces or shape in self.held_out):
            ranked = sorted(self.known(shape).items(), key=lambda item: item[1])
            size = len(ranked) / self.exemplars
            shown = [ranked[int(size * (i + draws.random()))] for i in range(self.exemplars)]
        return {"prompt": prompt_of(shape, shown), "task": f"hgemm:{shape}:TN",
                "shown": [text for text, _ in shown]}  # fmt: skip

    def draw(self, draws: random.Random) -> tuple[str, str]:
        """A prompt and its kernel for stage 1: half of them from whole spaces, good and bad alike."""
        rows = self.others and not self.exemplars
        if not self.spaces or (rows and draws.random() < 0.5):
            shape, text = draws.choice(self.others)
            return prompt_of(shape), text
        shape = draws.choice(sorted(self.spaces))
        return self.question(shape, draws)["prompt"], draws.choice(list(self.spaces[shape]))

    def questions(self, count: int, from_rows: float, draws: random.Random) -> list[dict]:
        """Rows for the trainer. `from_rows`: the share of them that ask for shapes without a space."""
        spaces, shapes = sorted(self.spaces), sorted({shape for shape, _ in self.others})
        rows: list[dict] = []
        while len(rows) < count:
            if shapes and (not spaces or draws.random() < from_rows):
                rows.append(self.question(draws.choice(shapes), draws))
            else:
                rows.append(self.question(spaces[len(rows) % len(spaces)], draws))
        return rows

    def texts(self, kernels: dict) -> list[str]:
        """Whatever may be read or written: the tokenizer's words come from it."""
        scores = " ".join(f"score={tenth / 10:.1f}" for tenth in range(31))
        prompts = [prompt_of(shape) for shape in kernels]
        return [scores, *prompts, *(text for known in kernels.values() for text in known)]

    def longest_prompt(self) -> int:
        return len(prompt_of("1x1x1").split()) + self.exemplars * (MOST_WORDS + 1)


class TableJudge:
    """A server on recorded spaces, and tuning rows for shapes that it has no space of.

    The server says what is legal on every shape. Where it has no verdict and the rows have a ratio,
    that is the reward. `unmeasured`: what a kernel earns that a whole space lacks; on other shapes it
    stays None, which says nothing.
    """

    def __init__(self, judge, kernels: dict, recorded: set[str], unmeasured: float | None):
        self.judge, self.kernels, self.recorded = judge, kernels, recorded
        self.unmeasured = unmeasured

    async def rewards_async(self, samples: list[dict]) -> list[dict]:
        answers = await self.judge.rewards_async(samples)
        return [self.completed(*pair) for pair in zip(samples, answers)]

    def completed(self, sample: dict, answer: dict) -> dict:
        shape = sample["task"].split(":")[1]
        if answer["reward"] is not None:
            return answer
        if shape in self.recorded:
            return answer | {"reward": self.unmeasured}
        ratio = self.kernels.get(shape, {}).get(sample["completion"])
        if ratio is None:
            return answer
        return answer | {"reward": min(ratio, 3.0), "outcome": "passed", "ratio": ratio}
