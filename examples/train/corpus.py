"""Recorded kernels, and which shapes a seed may not see.

Rows are those of `python -m warpsmith.train data`: one JSON object a line, of which those of kind
"variant" with a point are used.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from warpsmith.train.kernel_text import MOST_WORDS, alike, prompt_of, text_of, without_defaults

FOLDS = 5


def read_kernels(path: Path) -> dict[str, dict[str, float]]:
    """Shape -> kernel's text -> ratio to the baseline, the best where there are several."""
    shapes: dict[str, dict[str, float]] = {}
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
            known[text] = max(known.get(text, 0.0), ratio)
    if not shapes:
        raise SystemExit(f"{path}: holds no measured kernel of a matrix product (TN, f16)")
    return shapes


def held_out_of(shapes: list[str], seed: int) -> list[str]:
    """A fifth of the shapes. Seeds 1 to 5 hold out each shape once, and so do 6 to 10, otherwise."""
    groups = sorted({alike(shape) for shape in shapes})
    random.Random((seed - 1) // FOLDS).shuffle(groups)
    mine = set(groups[(seed - 1) % FOLDS :: FOLDS])
    return [shape for shape in shapes if alike(shape) in mine]


@dataclass
class Corpus:
    """What one seed learns from. `others`: (shape, kernel) of tuning rows of other shapes.

    Tuning rows are used where some recorded space of the training has that very configuration: the
    recordings cannot answer for others.
    """

    spaces: dict[str, dict[str, float]]  # to train on
    held_out: dict[str, dict[str, float]]
    others: list[tuple[str, str]]
    exemplars: int = 0  # scored kernels in a prompt

    @classmethod
    def of_seed(cls, kernels: dict, recorded: list[str], seed: int, exemplars: int) -> Corpus:
        hidden = held_out_of(recorded, seed)
        names = {alike(shape) for shape in hidden}
        spaces = {shape: kernels[shape] for shape in recorded if shape not in hidden}
        answered = set().union(*spaces.values())
        others = [(shape, text) for shape, known in kernels.items()
                  if shape not in recorded and alike(shape) not in names
                  for text in known if text in answered]  # fmt: skip
        return cls(spaces, {shape: kernels[shape] for shape in hidden}, others, exemplars)

    def known(self, shape: str) -> dict[str, float]:
        return self.spaces.get(shape) or self.held_out[shape]

    def question(self, shape: str, draws: random.Random) -> dict:
        """A row for the trainer: prompt, task, and the kernels that the prompt shows.

        Exemplars are drawn as in CUDA-L1, from different buckets of scores.
        """
        shown: list[tuple[str, float]] = []
        if self.exemplars:
            ranked = sorted(self.known(shape).items(), key=lambda item: item[1])
            size = len(ranked) / self.exemplars
            shown = [ranked[int(size * (i + draws.random()))] for i in range(self.exemplars)]
        return {"prompt": prompt_of(shape, shown), "task": f"hgemm:{shape}:TN",
                "shown": [text for text, _ in shown]}  # fmt: skip

    def draw(self, draws: random.Random) -> tuple[str, str]:
        """A prompt and its kernel for stage 1: half of them from whole spaces, good and bad alike."""
        if self.others and not self.exemplars and draws.random() < 0.5:
            shape, text = draws.choice(self.others)
            return prompt_of(shape), text
        shape = draws.choice(sorted(self.spaces))
        return self.question(shape, draws)["prompt"], draws.choice(list(self.spaces[shape]))

    def texts(self, kernels: dict) -> list[str]:
        """Whatever may be read or written: the tokenizer's words come from it."""
        scores = " ".join(f"score={tenth / 10:.1f}" for tenth in range(31))
        prompts = [prompt_of(shape) for shape in kernels]
        return [scores, *prompts, *(text for known in kernels.values() for text in known)]

    def longest_prompt(self) -> int:
        return len(prompt_of("1x1x1").split()) + self.exemplars * (MOST_WORDS + 1)
