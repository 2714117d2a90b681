"""An OpenEnv environment: an action is a model's reply, an observation is the judge's verdict.

    from openenv.core.env_server import create_app
    judge = Judge("http://127.0.0.1:8321")
    app = create_app(lambda: KernelEnvironment(judge, turns=3), Reply, Verdict, env_name="kernels")

`reset(task=..., workload=...)` says what must be computed. Each step is judged by itself, so the
trainer can discount turns as it likes. A reward of None says that nothing could be measured.
"""

from __future__ import annotations

import uuid

from openenv.core.env_server import Action, Environment, Observation, State

from warpsmith_rewards import Judge


class Reply(Action):
    completion: str


class Verdict(Observation):
    task: str
    words: str
    outcome: str | None = None
    ratio: float | None = None
    interval: list[float] | None = None
    terms: dict[str, float] = {}


class KernelEnvironment(Environment[Reply, Verdict, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, judge: Judge, turns: int = 1):
        super().__init__()
        self._judge, self._turns = judge, turns
        self._sample: dict[str, str] = {}
        self._state = State()

    def reset(self, seed=None, episode_id=None, *, task: str, workload: str | None = None, **_):
        self._state = State(episode_id=episode_id or str(uuid.uuid4()), step_count=0)
        self._sample = {"task": task} | ({"workload": workload} if workload else {})
        titles = {known["name"]: known["title"] for known in self._judge.tasks()}
        if task not in titles:
            raise ValueError(f"the judge knows no task {task!r}; it knows {', '.join(titles)}")
        return Verdict(task=task, words=titles[task])

    def step(self, action: Reply, timeout_s=None, **_):
        if not self._sample:
            raise ValueError("a step before the first reset: reset says which task it is")
        self._state.step_count += 1
        (answer,) = self._judge.rewards([{**self._sample, "completion": action.completion}])
        fields = {name: answer.get(name) for name in ("reward", "outcome", "ratio", "interval")}
        return Verdict(task=self._sample["task"], words=answer["words"],
                       terms=answer.get("terms", {}),
                       done=self._state.step_count >= self._turns, **fields)  # fmt: skip

    @property
    def state(self) -> State:
        return self._state
