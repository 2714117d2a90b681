"""A policy for contract tests: a Llama made on the spot, each of whose words is a whole reply.

A step of RL is then one word, and what the policy has learned is the chance of its best reply.
"""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM


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
