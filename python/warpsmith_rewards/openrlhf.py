"""OpenRLHF's agent of several turns: each kernel is judged, and the next is written with its verdict.

    openrlhf.sh --train.agent_func_path .../warpsmith_rewards/openrlhf.py

OpenRLHF makes an agent for each trajectory and gives it nothing, so its settings are variables of the
environment, on every machine of the cluster:

    WARPSMITH_JUDGE         address of `warpsmith serve`, as http://HOST:8321/t/TOKEN where it has one
    WARPSMITH_TURNS         kernels of a trajectory (4)
    WARPSMITH_TURN_FORMAT   the verdict as the model's chat template has it; the usual one is Qwen's
    WARPSMITH_UNMEASURED    reward of what cannot be measured; without it the run stops

The sum of a trajectory's rewards is the reward of its best kernel.
"""

from __future__ import annotations

import os
from functools import lru_cache

from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

from warpsmith_rewards import Judge, Turns

CHATML = "<|im_end|>\n<|im_start|>user\n{verdict}<|im_end|>\n<|im_start|>assistant\n"


class Number(float):
    """A reward as OpenRLHF reads it of a tensor."""

    def item(self) -> float:
        return float(self)


@lru_cache(maxsize=1)  # of a process: agents are many
def _judge(url: str) -> Judge:
    return Judge(url, batch=1, threads=64)


class AgentInstance(AgentInstanceBase):
    def __init__(self):
        settings = os.environ
        self._judge = _judge(settings["WARPSMITH_JUDGE"])
        self._format = settings.get("WARPSMITH_TURN_FORMAT", CHATML)
        self._most = int(settings.get("WARPSMITH_TURNS", "4"))
        unmeasured = settings.get("WARPSMITH_UNMEASURED")
        self._unmeasured = None if unmeasured is None else float(unmeasured)

    async def reset(self, states: dict, **_) -> dict:
        self._turns = Turns(self._judge, states["label"], self._most, self._unmeasured)
        return {"observation": states["observation"]}

    async def step(self, state_dict: dict, **_) -> dict:
        turns = self._turns
        gain = await turns.take(state_dict["action_text"])
        said = "" if turns.is_over else self._format.format(verdict=turns.feedback())
        logs = {"passed": float(turns.answer["outcome"] == "passed"),
                "ratio": float(turns.answer.get("ratio") or 0.0)}  # fmt: skip
        return {"rewards": Number(gain), "scores": Number(turns.best), "done": turns.is_over,
                "environment_feedback": said, "extra_logs": logs}  # fmt: skip


class AgentExecutor(MultiTurnAgentExecutor):
    def __init__(self):
        super().__init__(AgentInstance)
