"""A reward function for TRL's trainers (GRPOTrainer, RLOOTrainer, async GRPO).

    from warpsmith_rewards.trl import reward_function
    GRPOTrainer(..., reward_funcs=reward_function("http://127.0.0.1:8321"))

The data set has a column `task` and may have the columns `workload`, `group`, `shown` and
`prompt_sha256`, which rows of `Judge.prompts` have. A candidate that could not be measured is None,
which TRL leaves out of the group's mean and gives no gradient. Give a number as `unmeasured` where
the judge replays a recording: what it does not hold is then worth that much, and a policy cannot
flee to it.
"""

from __future__ import annotations

import hashlib
import json

from warpsmith_rewards import Judge, gain_signs


def reward_function(judge: Judge | str, *, unmeasured: float | None = None, **options):
    """An async function as TRL calls it. `options` are Judge's, where an address is given."""
    if isinstance(judge, str):
        judge = Judge(judge, **options)

    async def warpsmith(prompts, completions, task, workload=None, group=None, shown=None,
                        prompt_sha256=None, log_extra=None, log_metric=None, **_):  # fmt: skip
        columns = {"workload": workload, "group": group, "shown": shown,
                   "prompt_sha256": prompt_sha256}  # fmt: skip
        samples = []
        for i, completion in enumerate(completions):
            text = completion if isinstance(completion, str) else completion[-1]["content"]
            sample = {"task": task[i], "completion": text, "group": _name_of(prompts[i])}
            given = ((name, column[i]) for name, column in columns.items() if column is not None)
            sample |= {name: value for name, value in given if value is not None}
            samples.append(sample)
        answers = await judge.rewards_async(samples)
        if log_extra is not None:
            log_extra("outcome", [answer["outcome"] for answer in answers])
        if log_metric is not None:
            passed = sum(answer["outcome"] == "passed" for answer in answers)
            log_metric("passed", passed / len(answers))
            unknown = sum(answer["reward"] is None for answer in answers)
            log_metric("unmeasured", unknown / len(answers))
            for name, mean in gain_signs(answers).items():
                log_metric(name, mean)
        return [unmeasured if answer["reward"] is None else answer["reward"] for answer in answers]

    return warpsmith


def _name_of(prompt) -> str:
    return hashlib.sha256(json.dumps(prompt).encode()).hexdigest()[:16]
