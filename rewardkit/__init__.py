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
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rewardkit.version import __version__ as __version__

if TYPE_CHECKING:
    from rewardkit.algebra.bounds import bounds as bounds
    from rewardkit.algebra.define import term as term
    from rewardkit.algebra.expression import Condition as Condition
    from rewardkit.algebra.expression import Reward as Reward
    from rewardkit.algebra.expression import TokenReward as TokenReward
    from rewardkit.algebra.expression import Verdict as Verdict
    from rewardkit.algebra.interval import Interval as Interval
    from rewardkit.algebra.json import fingerprint as fingerprint
    from rewardkit.algebra.json import from_json as from_json
    from rewardkit.algebra.json import to_json as to_json
    from rewardkit.algebra.operations import *  # noqa: F403  # the functions of the algebra
    from rewardkit.algebra.parse import parse as parse
    from rewardkit.algebra.term import PerRow as PerRow
    from rewardkit.algebra.term import Term as Term
    from rewardkit.batch import Batch as Batch
    from rewardkit.batch import Sample as Sample
    from rewardkit.batch import Score as Score
    from rewardkit.batch import Status as Status
    from rewardkit.engine.program import Program as Program
    from rewardkit.engine.program import compile as compile
    from rewardkit.engine.scores import Scores as Scores
    from rewardkit.terms import *  # noqa: F403  # the terms
    from rewardkit.turns import Turn as Turn

_HOME = {
    "rewardkit.algebra.define": ("term",),
    "rewardkit.algebra.interval": ("Interval",),
    "rewardkit.batch": ("Batch", "Sample", "Score", "Status"),
    "rewardkit.algebra.term": ("PerRow", "Term"),
    "rewardkit.turns": ("Turn",),
    "rewardkit.algebra.expression": ("Condition", "Reward", "TokenReward", "Verdict"),
    "rewardkit.algebra.bounds": ("bounds",),
    "rewardkit.engine.program": ("Program", "compile"),
    "rewardkit.engine.scores": ("Scores",),
    "rewardkit.algebra.json": ("fingerprint", "from_json", "to_json"),
    "rewardkit.algebra.parse": ("parse",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    elif name == "__all__":
        value = sorted([*_MODULE_OF, "__version__", *_vocabulary()])
    elif not name.startswith("_") and name in _vocabulary():
        value = _vocabulary()[name]
    else:
        raise AttributeError(f"module 'rewardkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def _vocabulary() -> Mapping[str, Any]:
    """The terms, and the functions of the algebra: all that a formula's text may call."""
    from rewardkit.algebra import registry

    return registry.callables()


def __dir__() -> list[str]:
    names: list[str] = __getattr__("__all__")
    return names
