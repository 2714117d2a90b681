"""A trained model as a source of kernels: what it writes, and in which order it would try a space.

Needs torch and transformers. A model's folder is one that both can read: weights and tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from warpsmith.train.kernel_text import END, MOST_WORDS

BATCH = 256


class Policy:
    def __init__(self, folder: Path | str, device: str = "cpu"):
        self.tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
        self.model = AutoModelForCausalLM.from_pretrained(folder).to(device).eval()

    def _words(self, texts: Sequence[str], side: str):
        batch = self.tokenizer(list(texts), return_tensors="pt", padding=True, padding_side=side,
                               return_token_type_ids=False)  # fmt: skip
        return batch.to(self.model.device)

    @torch.no_grad()
    def write(self, prompts: Sequence[str], temperature: float = 1.0) -> list[str]:
        """A reply to each prompt, drawn at random (torch.manual_seed)."""
        texts = []
        for begin in range(0, len(prompts), BATCH):
            given = self._words(prompts[begin : begin + BATCH], "left")
            written = self.model.generate(**given, do_sample=True, temperature=temperature,
                                          top_k=0, max_new_tokens=MOST_WORDS)  # fmt: skip
            new = written[:, given["input_ids"].shape[1] :]
            texts += self.tokenizer.batch_decode(new, skip_special_tokens=True)
        return texts

    @torch.no_grad()
    def log_likelihood(self, prompt: str, texts: Sequence[str]) -> list[float]:
        """Of each text as the whole reply to the prompt, in nats."""
        start = len(prompt.split())
        sums: list[float] = []
        for begin in range(0, len(texts), BATCH):
            some = texts[begin : begin + BATCH]
            batch = self._words([f"{prompt} {text} {END}" for text in some], "right")
            logits = self.model(**batch).logits[:, :-1].float().log_softmax(-1)
            words = batch["input_ids"][:, 1:]
            each = logits.gather(2, words.unsqueeze(2)).squeeze(2) * batch["attention_mask"][:, 1:]
            sums += each[:, start - 1 :].sum(1).tolist()
        return sums

    def order(self, prompt: str, texts: Sequence[str]) -> list[int]:
        """Indices of the texts, the likeliest first."""
        likely = self.log_likelihood(prompt, texts)
        return sorted(range(len(texts)), key=lambda index: -likely[index])
