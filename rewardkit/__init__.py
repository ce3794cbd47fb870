"""Write an LLM reward as a formula; have it checked before it costs GPU hours; run it, batched, inside verl.

    >>> from rewardkit import Batch, compile, ends_with, length
    >>> reward = length(0.1) + ends_with(".?!")
    >>> reward
    length(0.1) + ends_with('.?!')
    >>> compile(reward)(Batch(["Two plus two is four.", ""])).total.tolist()
    [1.5, 0.0]

Names are loaded when first used, so that ``import rewardkit`` and the command line stay fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rewardkit.version import __version__

if TYPE_CHECKING:
    from rewardkit.batch import Batch, Sample, Score, Status
    from rewardkit.declaration import Term, term
    from rewardkit.expression import Condition, Reward, TokenReward, Verdict
    from rewardkit.functions import (
        clip,
        group_minmax,
        group_rank,
        group_share,
        group_zscore,
        linear,
        maximum,
        mean,
        minimum,
        observe,
        route,
        schedule,
        when,
    )
    from rewardkit.intervals import Interval, bounds
    from rewardkit.program import Program, compile
    from rewardkit.scores import Scores
    from rewardkit.terms import (
        answer_key,
        brevity,
        choice,
        contains,
        copy_share,
        cosine_length,
        ends_with,
        exact,
        exactly_one_answer,
        fuzzy_match,
        gsm8k,
        json_valid,
        judge,
        length,
        match_count,
        matches,
        math_equal,
        numeric,
        overlong,
        repetition,
        script_share,
        starts_with,
        tag_count,
        think_answer,
        token_f1,
        tool_call,
    )
    from rewardkit.text import fingerprint, from_json, parse, to_json

_HOME = {
    "rewardkit.batch": ("Batch", "Sample", "Score", "Status"),
    "rewardkit.intervals": ("Interval", "bounds"),
    "rewardkit.expression": ("Condition", "Reward", "TokenReward", "Verdict"),
    "rewardkit.functions": (
        "clip",
        "group_minmax",
        "group_rank",
        "group_share",
        "group_zscore",
        "linear",
        "maximum",
        "mean",
        "minimum",
        "observe",
        "route",
        "schedule",
        "when",
    ),
    "rewardkit.program": ("Program", "compile"),
    "rewardkit.scores": ("Scores",),
    "rewardkit.declaration": ("Term", "term"),
    "rewardkit.terms": (
        "answer_key",
        "brevity",
        "choice",
        "contains",
        "copy_share",
        "cosine_length",
        "ends_with",
        "exact",
        "exactly_one_answer",
        "fuzzy_match",
        "gsm8k",
        "json_valid",
        "judge",
        "length",
        "match_count",
        "matches",
        "math_equal",
        "numeric",
        "overlong",
        "repetition",
        "script_share",
        "starts_with",
        "tag_count",
        "think_answer",
        "token_f1",
        "tool_call",
    ),
    "rewardkit.text": ("fingerprint", "from_json", "parse", "to_json"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Batch",
    "Condition",
    "Interval",
    "Program",
    "Reward",
    "Sample",
    "Score",
    "Scores",
    "Status",
    "Term",
    "TokenReward",
    "Verdict",
    "__version__",
    "answer_key",
    "bounds",
    "brevity",
    "choice",
    "clip",
    "compile",
    "contains",
    "copy_share",
    "cosine_length",
    "ends_with",
    "exact",
    "exactly_one_answer",
    "fingerprint",
    "from_json",
    "fuzzy_match",
    "group_minmax",
    "group_rank",
    "group_share",
    "group_zscore",
    "gsm8k",
    "json_valid",
    "judge",
    "length",
    "linear",
    "match_count",
    "matches",
    "math_equal",
    "maximum",
    "mean",
    "minimum",
    "numeric",
    "observe",
    "overlong",
    "parse",
    "repetition",
    "route",
    "schedule",
    "script_share",
    "starts_with",
    "tag_count",
    "term",
    "think_answer",
    "to_json",
    "token_f1",
    "tool_call",
    "when",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rewardkit' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
