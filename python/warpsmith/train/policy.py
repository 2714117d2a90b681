"""A trained model as a source of kernels: what it writes, and in which order it would try a space.

Needs torch and transformers. A model's folder is one that both can read: weights and tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from warpsmith.train.kernel_text import MOST_WORDS

BATCH = 256
MOST_TOKENS = 16_384  # of a batch whose likelihoods are computed: its logits must fit


class Policy:
    def __init__(self, folder: Path | str, device: str = "cpu"):
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.model = AutoModelForCausalLM.from_pretrained(folder).to(device).eval()

    @torch.no_grad()
    def write(self, prompts: Sequence[str], temperature: float = 1.0) -> list[str]:
        """A reply to each prompt, drawn at random (torch.manual_seed)."""
        texts = []
        for begin in range(0, len(prompts), BATCH):
            given = self.tokenizer(list(prompts[begin : begin + BATCH]), return_tensors="pt",
                                   padding=True, return_token_type_ids=False)  # fmt: skip
            given = given.to(self.model.device)
            written = self.model.generate(**given, do_sample=True, temperature=temperature,
                                          top_k=0, max_new_tokens=MOST_WORDS)  # fmt: skip
            new = written[:, given["input_ids"].shape[1] :]
            texts += self.tokenizer.batch_decode(new, skip_special_tokens=True)
        return texts

    @torch.no_grad()
    def log_likelihood(self, prompt: str, texts: Sequence[str]) -> list[float]:
        """Of each text as the whole reply to the prompt, in nats."""
        end = [self.tokenizer.eos_token_id]
        given = self.tokenizer(prompt)["input_ids"]
        replies = [self.tokenizer(text, add_special_tokens=False)["input_ids"] + end for text in texts]
        sums: list[float] = []
        while len(sums) < len(texts):
            some = replies[len(sums) : len(sums) + BATCH]
            while len(some) > 1 and len(some) * (len(given) + max(map(len, some))) > MOST_TOKENS:
                some = some[: len(some) // 2]
            longest = max(map(len, some))
            rows = [given + reply + end * (longest - len(reply)) for reply in some]
            words = torch.tensor(rows, device=self.model.device)
            # No word sees a later one, so what fills a row up to the longest is not masked.
            logits = self.model(words[:, :-1]).logits[:, len(given) - 1 :].float().log_softmax(-1)
            each = logits.gather(2, words[:, len(given) :].unsqueeze(2)).squeeze(2)
            sums += [one[: len(reply)].sum().item() for one, reply in zip(each, some)]
        return sums

    def order(self, prompt: str, texts: Sequence[str]) -> list[int]:
        """Indices of the texts, the likeliest first."""
        likely = self.log_likelihood(prompt, texts)
        return sorted(range(len(texts)), key=lambda index: -likely[index])
