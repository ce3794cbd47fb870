"""A formula in verifiers: as a Rubric (up to 0.3), or as a reward of a Task (from 0.3 on).

    env = vf.SingleTurnEnv(dataset=..., rubric=rubric_of("gsm8k() + 0.1 * ends_with('.?!')"))

    class Sums(vf.Task[SumData]):  # verifiers.v1
        paid = task_reward_of("gsm8k() + 0.1 * ends_with('.?!')")

verifiers' own Rubric turns an exception of a reward function into 0.0. So the formula is none of its functions: it is a
Rubric that scores rollouts and groups itself. Both generations have a word for a rollout that could not be scored, its
error, and an unscored row gets one. Nothing of verifiers is imported before `rubric_of` is called.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rewardkit.batch import Batch
from rewardkit.errors import CompileError, MissingDependencyError, RewardKitError
from rewardkit.turns import Turn, last_said, turns_of
from trainer_glue.adapters.base import Adapter, AnyReward, Trainer, why_unscored
from trainer_glue.adapters.messages import prompt_text, reply_text, turn_column
from trainer_glue.adapters.unscored import fill_unscored

_VERIFIERS: Final = Trainer(
    "verifiers",
    "text, mostly without token ids, and no training step",
    frozenset({"batch", "tokens", "step", "truncated"}),
    "lengths can be counted in words or characters: unit='words'",
)


class UnscoredRolloutError(RewardKitError):
    """A rollout without a score, for a reason that the policy did not cause; verifiers records it as the error."""

    code = "unscored"


def rubric_of(reward: AnyReward, *, ground_truth: str = "answer") -> Any:
    """A `verifiers.Rubric` that pays by a formula, for verifiers up to 0.3.

    ``state["metrics"]`` gets every name's own value where it has one, ``<term>/status``, and ``unscored``. An unscored
    rollout gets ``state["error"]``, and as its reward the mean of its group's scored rollouts, whose advantage is 0; 0
    where there are none.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        ground_truth: the column with the ground truths, of the data set or of its ``info``.

    Raises:
        CompileError: the formula needs what verifiers doesn't hand over, or is token-level.
        MissingDependencyError: verifiers is absent, or too new to have a Rubric.
        FormulaError, ConfigError: the reward doesn't load.
    """
    adapter = Adapter(reward, _VERIFIERS)
    program, grouped = adapter.program, adapter.grouped
    try:
        import verifiers

        vf: Any = verifiers
        base, error = vf.Rubric, vf.Error
    except (ImportError, AttributeError) as e:
        raise MissingDependencyError(
            f"verifiers' Rubric is not to be had: {e}",
            hint="pip install 'verifiers<0.4'; from 0.4 on rewards belong to a Task: task_reward_of(...)",
        ) from e

    class FormulaRubric(base):  # type: ignore[misc, valid-type]
        """A Rubric without functions: the formula is all of it."""

        def __init__(self) -> None:
            super().__init__()
            self.program = program

        @property
        def has_group_rewards(self) -> bool:
            return grouped

        def _get_reward_func_names(self) -> list[str]:
            return list(program.names)

        async def score_rollout(self, state: Any) -> None:
            if grouped:
                raise CompileError(
                    f"{program.reward!r} compares the responses of one prompt, and verifiers scores them one by one",
                    hint="env.generate(..., independent_scoring=False)",
                )
            await self._score([state])

        async def score_group(self, states: list[Any]) -> None:
            if not states:
                return
            rewards = await self._score(states)
            for state, advantage in zip(states, rewards - rewards.mean(), strict=True):
                state["advantage"] = float(advantage)
                for turn in state.get("trajectory") or ():
                    for key in ("advantage", "reward"):
                        turn[key] = state[key] if turn.get(key) is None else turn[key]

        async def _score(self, states: list[Any]) -> Any:
            scores = await asyncio.to_thread(adapter.score, _batch_of_states(states, ground_truth, program.needs))
            rewards = fill_unscored(scores, None)
            for i, state in enumerate(states):
                state["reward"] = float(rewards[i])
                state["metrics"] = adapter.numbers(scores, i)
                if scores.unscored[i] and state.get("error") is None:
                    state["error"] = error(why_unscored(scores, i))
            return rewards

    return FormulaRubric()


class TaskReward(Adapter):
    """What a `Task` of verifiers.v1 calls. Build one with :func:`task_reward_of`."""

    reward = True  # how verifiers tells a reward among a task's attributes
    reward_priority = 0

    def __init__(self, reward: AnyReward, ground_truth: str, weight: float) -> None:
        super().__init__(reward, _VERIFIERS)
        if self.grouped:
            raise CompileError(
                f"{self.program.reward!r} compares the responses of one prompt, and a Task of verifiers sees one",
                hint="verifiers up to 0.3 has groups: rubric_of(...)",
            )
        self.ground_truth = ground_truth
        self.__name__ = "rewardkit"
        self._vf_weight = weight

    async def __call__(self, task: Any, trace: Any) -> float:
        """Score one rollout.

        Args:
            task: its `TaskData`.
            trace: its `Trace`; every name's value and ``<term>/status`` are recorded as metrics.

        Raises:
            UnscoredRolloutError: it has no score; verifiers records the error and no reward.
        """
        given = task.model_dump()
        turns = _turns_of_trace(trace)
        batch = Batch(
            [last_said(turns).strip()],
            [given.get(self.ground_truth)],
            prompts=[task.prompt_text],
            data_sources=[given.get("data_source")],
            extra_infos=[given.get("extra_info") or given],
            turns=[turns],
        )
        scores = await asyncio.to_thread(self.score, batch)
        trace.record_metrics(self.numbers(scores, 0))
        if scores.unscored[0]:
            raise UnscoredRolloutError(why_unscored(scores, 0))
        return float(scores.total[0])


def task_reward_of(reward: AnyReward, *, ground_truth: str = "answer", weight: float = 1.0) -> TaskReward:
    """A formula as a reward of a `verifiers.v1.Task`: an attribute of its class, or named by its config's `rewards`.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        ground_truth: the field of the task's data with the ground truth.
        weight: what verifiers multiplies it by.

    Raises:
        CompileError: the formula needs what verifiers doesn't hand over, is token-level, or compares a group.
        FormulaError, ConfigError: the reward doesn't load.
    """
    return TaskReward(reward, ground_truth, weight)


def _turns_of_trace(trace: Any) -> tuple[Turn, ...]:
    """What follows the prompt. A message that is `assistant`'s and was not sampled is not the policy's."""
    nodes = list(itertools.dropwhile(lambda node: not node.sampled, trace.nodes))
    turns = turns_of([node.message for node in nodes])
    return tuple(
        dataclasses.replace(turn, own=turn.own and node.sampled) for turn, node in zip(turns, nodes, strict=True)
    )


def _batch_of_states(states: Sequence[Any], ground_truth: str, needs: frozenset[str]) -> Batch:
    infos = [info if isinstance(info := state.get("info"), Mapping) else {} for state in states]
    truths = [
        state.get(ground_truth) if state.get(ground_truth) is not None else info.get(ground_truth)
        for state, info in zip(states, infos, strict=True)
    ]
    sources = [
        source if isinstance(source := info.get("data_source", state.get("task")), str) else None
        for state, info in zip(states, infos, strict=True)
    ]
    return Batch(
        [reply_text(state.get("completion")) for state in states],
        truths,
        prompts=[prompt_text(state.get("prompt")) for state in states],
        data_sources=sources,
        groups=[0] * len(states)
        if "group" in needs
        else None,  # verifiers hands over one prompt's rollouts, and only those
        extra_infos=infos,
        turns=turn_column([state.get("completion") for state in states], needs),
        chats=[state.get("prompt") for state in states],
    )
