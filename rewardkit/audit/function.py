"""A reward that is a Python function: verl's `compute_score`, one of two texts, or one over lists as in TRL.

The names of its parameters say which: `solution_str` or `completion`, `ground_truth` or `answer` for one response;
`completions` for a list of them, as plain texts or as lists of messages, whichever it reads. A function that takes
whatever it is given is called as verl calls it. It runs in a child process, with what it prints thrown away.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.audit.apart import Apart
from rewardkit.audit.ground_truths import truth_of
from rewardkit.audit.literals import literals_of
from rewardkit.audit.subject import Pay, tokens_of
from rewardkit.audit.tools import transcript
from rewardkit.batch import Floats, Sample
from rewardkit.errors import ConfigError
from rewardkit.turns import Turn

_RESPONSE: Final = ("solution_str", "completion", "response", "prediction", "text", "output", "model_output")
_GROUND_TRUTH: Final = (
    "ground_truth", "answer", "reference", "gold", "solution", "target", "label", "test_cases", "tests", "in_outs",
)  # fmt: skip
_PROMPT: Final = ("prompt", "question", "problem")
_VERL: Final = ("data_source", "solution_str", "ground_truth", "extra_info")
_OF_TOOLS: Final = re.compile(r"\b(tool|observation|assistant|user)", re.IGNORECASE)
"""What a function for trajectories of several turns has among its texts."""
_PROBES: Final = (
    "", "so", "#### {}", "\\boxed{{{}}}", "The answer is {}.", "{}",
    "<think>\nso\n</think>\n<answer>\n{}\n</answer>",
    "<think>\nso\n</think>\n<answer>\n\\boxed{{{}}}\n</answer>",
    "<reasoning>\nso\n</reasoning>\n<answer>\n{}\n</answer>\n",
)  # fmt: skip
"""Responses by which it is told whether a function reads texts or messages."""
PROGRAM_S: Final = 30.0
"""Seconds of a call that runs a program on its tests."""


class FunctionSubject:
    """A function that pays one response, or a list of them.

    Raises:
        ConfigError: a function without a parameter for the response.
    """

    formula: Expression | None = None
    trusted = False
    shaping: frozenset[str] = frozenset()
    reads_turns = True

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        self.literals = literals_of(function)
        self._function = function
        parameters = inspect.signature(function).parameters
        kinds = [p.kind for p in parameters.values()]
        self._takes = frozenset(
            p.name for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        )
        self._takes_all = inspect.Parameter.VAR_KEYWORD in kinds
        self._by_place = inspect.Parameter.VAR_POSITIONAL in kinds and not self._takes and not self._takes_all
        self._batched = "completions" in self._takes
        self.knows_of_tools = any(_OF_TOOLS.search(text) for text in self.literals.texts)
        self._messages: bool | None = None
        self._apart = Apart(self._alone, lambda sample: len(sample.response))
        self._group = Apart(self._listed, len)
        known = self._batched or self._by_place or self._takes_all or self._takes & set(_RESPONSE)
        if not known:
            raise ConfigError(
                f"{name} takes ({', '.join(parameters)}); expected a reward function",
                hint="compute_score(data_source, solution_str, ground_truth, extra_info), or f(completions, **kwargs)",
            )

    def for_programs(self) -> FunctionSubject:
        """The same function, each call in a process of its own: what it runs may change the process that it is in."""
        other = FunctionSubject(self._function, self.name)
        other._apart = Apart(other._alone, lambda sample: len(sample.response), deadline=PROGRAM_S, once=True)
        return other

    def pay(self, samples: Sequence[Sample]) -> Pay:
        """What each sample is paid, in a call of its own."""
        total = np.full(len(samples), np.nan)
        reasons: dict[int, str] = {}
        for i, (paid, reason) in enumerate(self._apart.map(samples)):
            if reason is not None:
                reasons[i] = reason
            elif not np.isfinite(paid):
                reasons[i] = f"it paid {paid}"
            else:
                total[i] = paid
        return Pay(total, reasons)

    def close(self) -> None:
        """End the processes that it runs in. The next call starts them again."""
        self._apart.close()
        self._group.close()

    def fresh(self, samples: Sequence[Sample]) -> Pay:
        """What each sample is paid by a process that has paid nothing before them."""
        self._apart.close()
        paid = self.pay(samples)
        self._apart.close()
        return paid

    def together(self, samples: Sequence[Sample]) -> Floats | None:
        """What samples of one group are paid in one call. None for a function of one response."""
        if not self._batched:
            return None
        ((paid, reason),) = self._group.map([samples])
        return np.full(len(samples), np.nan) if reason is not None else np.array(paid)

    def parts(self, samples: Sequence[Sample]) -> Mapping[str, Floats]:
        """Nothing: a function has no parts that can be seen."""
        return {}

    def _alone(self, sample: Sample) -> float:
        return self._listed([sample])[0] if self._batched else self._one(sample)

    def _one(self, sample: Sample) -> float:
        given: dict[str, Any] = {
            **dict.fromkeys(_RESPONSE, transcript(sample.turns) if sample.turns else sample.response),
            **dict.fromkeys(_GROUND_TRUTH, sample.ground_truth),
            **dict.fromkeys(_PROMPT, sample.prompt or ""),
            "data_source": sample.data_source or "openai/gsm8k",
            "extra_info": {**sample.extra_info, **({"num_turns": 1 + len(sample.turns)} if sample.turns else {})},
        }
        wanted = {k: v for k, v in given.items() if k in self._takes or (self._takes_all and k in _VERL)}
        if self._by_place:
            value = _now(self._function(*(given[name] for name in _VERL)))
        else:
            value = _now(self._function(**wanted))
        if isinstance(value, Mapping):
            value = value["score"]
        return float(value[0] if isinstance(value, tuple) else value)  # prime_code's comes with its metadata

    def _listed(self, samples: Sequence[Sample]) -> list[float]:
        if self._messages is None:
            self._messages = self._reads_messages(samples[0])
        return self._call(samples, self._messages)

    def _call(self, samples: Sequence[Sample], messages: bool) -> list[float]:
        texts = [transcript(s.turns) if s.turns else s.response for s in samples]
        prompts = [s.prompt or "" for s in samples]
        truths = [s.ground_truth for s in samples]
        columns: dict[str, list[Any]] = {
            "completions": [_messages_of(s) for s in samples] if messages else texts,
            "prompts": [[{"role": "user", "content": p}] for p in prompts] if messages else prompts,
            "completion_ids": [tokens_of(t) for t in texts],
            **{name: list(truths) for name in _GROUND_TRUTH},
            **{name: list(prompts) for name in _PROMPT},
        }
        wanted = {k: v for k, v in columns.items() if k in self._takes or self._takes_all}
        values = _now(self._function(**wanted))
        if len(values) != len(samples):
            raise ValueError(f"{len(values)} values for {len(samples)} response{'s'[: len(samples) - 1]}")
        return [float("nan") if v is None else float(v) for v in values]

    def _reads_messages(self, sample: Sample) -> bool:
        """Whether it wants messages: fewer responses make it fail then, or as many and more are told apart."""
        truth = truth_of(sample.ground_truth)
        answer = sample.ground_truth if truth is None else truth.text
        ranks = []
        for messages in (False, True):
            failed, paid = 0, set()
            for probe in _PROBES:
                response = Sample(
                    probe.format(answer),
                    ground_truth=sample.ground_truth,
                    prompt=sample.prompt,
                    data_source=sample.data_source,
                    extra_info=sample.extra_info,
                )
                try:
                    paid.add(self._call([response], messages)[0])
                except Exception:  # what it is not made for
                    failed += 1
            ranks.append((failed, -len(paid)))
        return ranks[1] <= ranks[0]


def _messages_of(sample: Sample) -> list[dict[str, Any]]:
    turns = sample.turns or (Turn(sample.response),)
    return [{"role": turn.role, "content": turn.text} for turn in turns]


def _now(value: Any) -> Any:
    """The value, also of a function that is awaited."""
    return asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value


async def _awaited(value: Any) -> Any:
    return await value
