"""verl's agent loop of several turns: each kernel is judged, and the next is written with its verdict.

    actor_rollout_ref.rollout.agent.default_agent_loop=kernels
    actor_rollout_ref.rollout.agent.agent_loop_config_path=FILE.yaml

where FILE.yaml is

    - name: kernels
      _target_: warpsmith_rewards.verl_turns.KernelLoop
      url: http://judge:8321
      turns: 4

A row's `reward_model.ground_truth` is TASK or TASK#WORKLOAD. A trajectory's score is the reward of its
best kernel; verdicts are masked, so only kernels are learned from.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput

from warpsmith_rewards import Turns
from warpsmith_rewards.verl import judge_at


class KernelLoop(AgentLoopBase):
    def __init__(self, *args, url: str, turns: int = 4, unmeasured: float | None = None,
                 token_file: str | None = None, **kwargs):  # fmt: skip
        super().__init__(*args, **kwargs)
        self._judge = judge_at(url, token_file=token_file)
        self._turns, self._unmeasured = turns, unmeasured

    async def run(self, sampling_params: dict[str, Any], **row) -> AgentLoopOutput:
        turns = Turns(self._judge, row["reward_model"]["ground_truth"], self._turns, self._unmeasured)
        messages = list(row["raw_prompt"])
        words = await self.ct_build_initial_tokens(messages)
        mask: list[int] = []
        logprobs: list[float] | None = None
        request, gains, extra = uuid4().hex, [], {}
        most = self.rollout_config.response_length
        while True:
            written = await self.server_manager.generate(
                request_id=request, prompt_ids=words, sampling_params=sampling_params)  # fmt: skip
            extra = written.extra_fields or extra
            merged, mask, logprobs = await self.ct_merge_assistant_token(
                words, written.token_ids, mask,
                (logprobs or []) if written.log_probs else None,
                assistant_logprobs=written.log_probs or None)  # fmt: skip
            words = merged.token_ids
            text = self.tokenizer.decode(written.token_ids, skip_special_tokens=True)
            gains.append(await turns.take(text))
            if turns.is_over or len(mask) >= most:
                break
            before = [*messages, {"role": "assistant", "content": text}]
            messages = [*before, {"role": "user", "content": turns.feedback()}]
            merged, longer, with_verdict = await self.ct_merge_context_msg(
                before, messages, words, mask, logprobs)  # fmt: skip
            if len(longer) >= most:
                break  # no room for another kernel
            words, mask, logprobs = merged.token_ids, longer, with_verdict
        start = len(words) - len(mask)
        return AgentLoopOutput(
            prompt_ids=words[:start], response_ids=words[start:][:most], response_mask=mask[:most],
            response_logprobs=logprobs[:most] if logprobs else None, reward_score=turns.best,
            num_turns=2 * len(gains), metrics={},
            extra_fields={**extra, "turn_scores": gains, "tool_rewards": []})  # fmt: skip
