"""verl's custom reward function.

    reward.custom_reward_function.path=pkg://warpsmith_rewards.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.url=http://127.0.0.1:8321

A row's `reward_model.ground_truth` is TASK or TASK#WORKLOAD. Use the reward manager `naive`, `dapo`
or `rate_limited` with reward.timeout above `patience_s`: beyond its limit it scores 0. verl's
`remote` manager refuses async functions.
"""

from __future__ import annotations

from functools import lru_cache

from warpsmith_rewards import SIGNS, Judge, Unreachable


@lru_cache(maxsize=8)  # verl gives the address with each call
def judge_at(url: str, **options) -> Judge:
    return Judge(url, batch=1, threads=64, **options)


async def compute_score(data_source, solution_str, ground_truth, extra_info=None, *, url,
                        tries=5, unmeasured=None, **options):  # fmt: skip
    """The score of one reply and what verl logs beside it.

    verl has no word for "could not be measured". Such a sample is asked `tries` times, a recording
    once. Then it gets the score `unmeasured`, or, where that is None, the run stops: a zero
    would tell the policy that the candidate was bad.
    """
    task, _, workload = ground_truth.partition("#")
    sample = {"task": task, "completion": solution_str}
    sample |= {"workload": workload} if workload else {}
    told = extra_info or {}  # which variants the prompt showed: a copy of one earns no gain
    sample |= {name: value for name, value in (("shown", list(told.get("shown") or [])),
                                               ("prompt_sha256", told.get("prompt_sha256"))) if value}  # fmt: skip
    answer = await judge_at(url, **options).measured(sample, tries)
    score = unmeasured if answer["reward"] is None else answer["reward"]
    if score is None:
        raise Unreachable(
            f"{ground_truth}: a candidate could not be measured ({answer['words']}); "
            "set reward_kwargs.unmeasured to the score that such samples shall get"
        )
    # verl makes one array of each key over the batch, so every sample has every key.
    return {
        "score": float(score),
        "passed": float(answer["outcome"] == "passed"),
        "unmeasured": float(answer["reward"] is None),
        "ratio": float(answer.get("ratio") or 0.0),
        "outcome": answer["outcome"],
        **{name: answer.get("signs", {}).get(name, 0.0) for name in SIGNS},
    }
