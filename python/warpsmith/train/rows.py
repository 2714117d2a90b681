"""Rows of training data: what they hold, which are kept apart or left out, how they are written."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

FORMS = ("triplet", "completion", "text")
TRAIN, HELD_OUT_SHAPE, HELD_OUT_FAMILY = "train", "held-out-shape", "held-out-family"
KERNELBENCH = "kernelbench"  # the answer to a problem of the benchmark: for no training at all


@dataclass
class Row:
    """A triplet of instruction, context and code, and what is known of it."""

    kind: str  # variant, improvement, code
    origin: str
    license: str  # SPDX
    family: str
    code: str
    file: str = "kernel.cu"
    instruction: str = ""
    context: str = ""
    task: str | None = None  # the name that `warpsmith serve` knows it by
    shape: dict[str, Any] | None = None  # m, n, k, layout, dtype
    point: dict[str, Any] | None = None  # family and values of a kernel of ours
    plan: dict[str, Any] | None = None
    measured: dict[str, Any] | None = None
    compiles: str = "not-tried"  # judged, nvcc
    sources: dict[str, str] = field(default_factory=dict)  # of headers: name -> SHA-256
    split: str = TRAIN

    @property
    def subject(self) -> str:
        """What the code answers. Two codes are only compared with each other within one subject."""
        return self.task or self.family

    def id(self) -> str:
        text = "\0".join((self.instruction, self.context, self.code, json.dumps(self.plan)))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def completion(self) -> str:
        """In the form in which a model replies to warpsmith: files and plan in fences."""
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", self.code)), default=0))
        text = f"{fence}cuda {self.file}\n{self.code}{fence}\n"
        if self.plan is not None:
            text += f"{fence}json plan.json\n{json.dumps(self.plan)}\n{fence}\n"
        return text

    def document(self, forms: Iterable[str]) -> dict[str, Any]:
        names = ("kind", "split", "family", "task", "shape", "point", "plan", "measured",
                 "license", "origin", "compiles", "file", "sources")  # fmt: skip
        document = {"id": self.id()} | {name: getattr(self, name) for name in names}
        prompt = f"{self.instruction}\n"
        prompt += f"\n# Context\n\n{self.context}\n" if self.context else ""
        for form in forms:
            if form == "triplet":
                document |= {"instruction": self.instruction, "context": self.context,
                             "code": self.code}  # fmt: skip
            elif form == "completion":
                document |= {"prompt": prompt + "\n# Reply\n\n", "completion": self.completion()}
            else:
                document["text"] = f"# Instruction\n\n{prompt}\n# Reply\n\n{self.completion()}"
        return document


def _is_drawn(name: str, share: float, seed: int) -> bool:
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


@dataclass(frozen=True)
class HoldOut:
    """Shapes and task families that are no training data. Drawn by a hash of the name, so that the
    same ones are held out whatever else is in the data, and in every layout and type."""

    share: float = 0.2
    seed: int = 1
    families: frozenset[str] = frozenset()  # besides those that are drawn
    shapes: frozenset[str] = frozenset()

    def split(self, row: Row) -> str:
        if row.split != TRAIN:
            return row.split
        if row.shape is not None:
            size = f"{row.shape['m']}x{row.shape['n']}x{row.shape['k']}"
            return HELD_OUT_SHAPE if self.holds_shape(size) else TRAIN
        # Matrix products are held out by shape; what belongs to no task is for training.
        if row.family in self.families:
            return HELD_OUT_FAMILY
        is_task = row.family not in ("hgemm", "cuda")
        drawn = is_task and _is_drawn(f"family {row.family}", self.share, self.seed)
        return HELD_OUT_FAMILY if drawn else TRAIN

    def holds_shape(self, size: str) -> bool:
        return size in self.shapes or _is_drawn(f"shape {size}", self.share, self.seed)


_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"[^\"\n]*\"|[^\s\w]")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def shingles(code: str, length: int = 5) -> set[bytes]:
    """Every `length` tokens that follow each other; comments and white space do not count."""
    tokens = _TOKEN.findall(_COMMENT.sub(" ", code))
    last = max(1, len(tokens) - length + 1)
    return {" ".join(tokens[i : i + length]).encode() for i in range(last)}


class NearDuplicates:
    """Finds codes that are nearly the same, by MinHash (datasketch)."""

    PERMUTATIONS = 64

    def __init__(self, threshold: float):
        self.threshold = threshold
        self._indices: dict[str, Any] = {}  # subject -> MinHashLSH
        self._hashes: dict[str, Any] = {}

    def _hash(self, code: str) -> Any:
        from datasketch import MinHash

        minhash = MinHash(num_perm=self.PERMUTATIONS)
        minhash.update_batch(shingles(code))
        return minhash

    def find(self, subject: str, code: str, add_as: str | None = None) -> str | None:
        """The name of a code of the subject that is nearly this one. Else the code is added."""
        from datasketch import MinHashLSH

        index = self._indices.get(subject)
        if index is None:
            index = MinHashLSH(threshold=self.threshold, num_perm=self.PERMUTATIONS)
            self._indices[subject] = index
        minhash = self._hash(code)
        for name in index.query(minhash):
            if self._hashes[name].jaccard(minhash) >= self.threshold:
                return str(name)
        if add_as is not None:
            index.insert(add_as, minhash)
            self._hashes[add_as] = minhash
        return None


def without_near_duplicates(rows: list[Row], threshold: float, counts: Counter[str]) -> list[Row]:
    """The first of those that are nearly the same. Held-out rows come first, so that a training row
    that nearly repeats one of them is left out, and not the other way round."""
    found = NearDuplicates(threshold)
    kept = []
    for number, row in enumerate(sorted(rows, key=lambda row: row.split == TRAIN)):
        if row.kind == "improvement":  # its code is a variant's; what is new is the comparison
            kept.append(row)
        elif found.find(row.subject, row.code, str(number)) is None:
            kept.append(row)
        else:
            counts["near-duplicate"] += 1
    return kept
