"""A reward that is a Python function: verl's `compute_score`, one of two texts, or one over lists as in TRL.

The names of its parameters say which: `solution_str` or `completion`, `ground_truth` or `answer` for one response;
`completions` for a list of them. It runs in this process, with what it prints thrown away.
"""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.audit.subject import Pay, tokens_of
from rewardkit.batch import Floats, Sample
from rewardkit.errors import ConfigError

_RESPONSE: Final = ("solution_str", "completion", "response", "prediction", "text", "output", "model_output")
_GOLD: Final = ("ground_truth", "answer", "reference", "gold", "solution", "target", "label")
_PROMPT: Final = ("prompt", "question", "problem")


class FunctionSubject:
    """A function that pays one response, or a list of them.

    Raises:
        ConfigError: a function without a parameter for the response.
    """

    formula: Expression | None = None
    trusted = False
    shaping: frozenset[str] = frozenset()

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        self._function = function
        parameters = inspect.signature(function).parameters
        self._takes = frozenset(parameters)
        self._takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        self._batched = "completions" in parameters
        if not self._batched and not self._takes & set(_RESPONSE):
            raise ConfigError(
                f"{name} takes ({', '.join(parameters)}); expected a reward function",
                hint="compute_score(data_source, solution_str, ground_truth, extra_info), or f(completions, **kwargs)",
            )

    def pay(self, samples: Sequence[Sample]) -> Pay:
        """What each sample is paid."""
        total = np.full(len(samples), np.nan)
        reasons: dict[int, str] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for i, sample in enumerate(samples):
                try:
                    total[i] = self._one(sample)
                except Exception as e:  # the user's code may raise anything: that is a finding
                    reasons[i] = f"{type(e).__name__}: {e}"
                else:
                    if not np.isfinite(total[i]):
                        reasons[i] = f"it paid {total[i]}"
                        total[i] = np.nan
        return Pay(total, reasons)

    def parts(self, samples: Sequence[Sample]) -> Mapping[str, Floats]:
        """Nothing: a function has no parts that can be seen."""
        return {}

    def _one(self, sample: Sample) -> float:
        if self._batched:
            return self._listed(sample)
        given = {
            **dict.fromkeys(_RESPONSE, sample.response),
            **dict.fromkeys(_GOLD, sample.ground_truth),
            **dict.fromkeys(_PROMPT, sample.prompt or ""),
            "data_source": sample.data_source or "openai/gsm8k",
            "extra_info": dict(sample.extra_info),
        }
        wanted = {k: v for k, v in given.items() if k in self._takes}
        value = self._function(**wanted)
        if isinstance(value, Mapping):
            value = value["score"]
        return float(value)

    def _listed(self, sample: Sample) -> float:
        gold = sample.ground_truth
        columns: dict[str, list[Any]] = {
            "completions": [[{"role": "assistant", "content": sample.response}]],
            "prompts": [[{"role": "user", "content": sample.prompt or ""}]],
            "completion_ids": [tokens_of(sample.response)],
            **{name: [gold] for name in _GOLD},
        }
        wanted = {k: v for k, v in columns.items() if k in self._takes or self._takes_all}
        values = self._function(**wanted)
        if len(values) != 1:
            raise ValueError(f"{len(values)} values for 1 response")
        return float("nan") if values[0] is None else float(values[0])
