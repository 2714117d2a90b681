"""What contract tests train: a tokenizer of bytes, and a Llama whose words are whole replies.

A step of RL is then one word, and what the policy has learned is the chance of its best reply.
"""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """256 bytes and an end, no merges: made here, so nothing is downloaded."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: i for i, letter in enumerate(["<end>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>",
                                   pad_token="<end>", padding_side="left")  # fmt: skip


class OneWord:
    def __init__(self, replies: list[str], rate: float = 0.05):
        torch.manual_seed(1)
        self.replies = replies
        self.model = LlamaForCausalLM(
            LlamaConfig(vocab_size=len(replies), hidden_size=16, intermediate_size=32,
                        num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=4))  # fmt: skip
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate)
        with torch.no_grad():
            self.before = self.log_probabilities().clone()

    def log_probabilities(self) -> torch.Tensor:
        """Of each reply: (replies,), with gradients."""
        return self.model(torch.zeros(1, 1, dtype=torch.long)).logits[0, -1].log_softmax(-1)

    def draw(self, count: int) -> torch.Tensor:
        """Numbers of replies, (count, 1)."""
        with torch.no_grad():
            return torch.multinomial(self.log_probabilities().exp(), count, True).unsqueeze(1)

    def learn(self, loss: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
