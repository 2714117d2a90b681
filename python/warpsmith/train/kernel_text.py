"""Kernels of the matrix-product families as text, and a tokenizer made from that text.

A kernel is the JSON that `warpsmith serve` takes: {"family":"wgmma","values":{ "tile_m":128, ... }}.
One word is one parameter with its value, so a kernel is 12 to 24 words. A prompt names the sizes and
what follows from them (work, traffic, tiles for each multiprocessor), each rounded to half a power of
two, so that shapes which behave alike share words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

PAD, END, UNKNOWN = "<pad>", "<end>", "<unknown>"
MOST_WORDS = 26  # of a kernel, with its end
FIRST = ("tile_m", "tile_n", "tile_k", "stages")  # what the other parameters follow from
MULTIPROCESSORS = 132  # of an H200


def alike(shape: str) -> str:
    """The same for a shape and its transpose, for which the same kernels win."""
    m, n, k = (int(size) for size in shape.split("x"))
    return f"{min(m, n)}x{max(m, n)}x{k}"


def point_of(kernel: str) -> dict:
    """"wgmma stages=4 tile_k=64", as the program names a point, as an object."""
    family, *fields = kernel.split()
    values = {name: int(value) for name, value in (field.split("=") for field in fields)}
    return {"family": family, "values": values}


def without_defaults(point: dict) -> dict:
    """The point without parameters that older recordings lack, where they have their default."""
    newer = {"l2_promotion": 256}
    values = {n: v for n, v in point["values"].items() if newer.get(n) != v}
    return {"family": point["family"], "values": values}


def text_of(point: dict) -> str:
    def order(item):
        name = item[0]
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)

    values = [f'"{name}":{value}' for name, value in sorted(point["values"].items(), key=order)]
    return f'{{"family":"{point["family"]}","values":{{ ' + ", ".join(values) + "}}"


def prompt_of(shape: str, shown: Iterable[tuple[str, float]] = ()) -> str:
    """The sizes, what follows from them, and kernels that were measured, with their scores."""
    m, n, k = (int(size) for size in shape.split("x"))
    tiles = math.ceil(m / 128) * math.ceil(n / 128) / MULTIPROCESSORS
    facts = {"products": m * n * k, "operands": (m + n) * k, "outputs": m * n, "tiles": tiles,
             "aspect": m / n, "depth": k * k / (m * n)}  # fmt: skip
    rounded = [f"{name}=2^{round(2 * math.log2(fact)) / 2:g}" for name, fact in facts.items()]
    words = ["hgemm", f"m={m}", f"n={n}", f"k={k}", *rounded]
    for text, ratio in shown:
        words += [f"score={min(ratio, 3):.1f}", text]
    return " ".join([*words, "kernel:"])


def tokenizer_of(texts: Iterable[str]):
    """Words as the texts have them, for transformers; nothing is downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in text.split()})
    vocabulary = {word: i for i, word in enumerate([PAD, END, UNKNOWN, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END,
                                   unk_token=UNKNOWN, padding_side="left",
                                   clean_up_tokenization_spaces=False)  # fmt: skip
