"""What paid an older run: the keys that said so, and the formula that pays the same, where that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_glue.verl.config.written import dig

KNOWN: Final = {"LengthBonusRewardManager": "length(0.1) + ends_with('.?!', min_words=0)"}
"""Reward classes of published recipes by name, and what they pay: a tenth of a point for every word, one point for an
end mark, also for one that stands alone."""
_CLASSES: Final = ("custom_reward_class", "reward_manager.custom_reward_class", "reward_model.custom_reward_class")
_FUNCTIONS: Final = ("custom_reward_function", "reward.custom_reward_function")
_MANAGERS: Final = ("reward_manager", "reward_model.reward_manager", "reward.reward_manager")
_OURS: Final = "trainer_glue.verl"


@dataclass(frozen=True)
class OldReward:
    """What the keys of an older file say of its reward.

    Attributes:
        formula: what pays the same; None when that isn't known.
        why: how it was found, or what to do.
        dropped: the keys that said it, and why each goes.
    """

    formula: str | None
    why: str
    dropped: Mapping[str, str]


def find_old_reward(data: Mapping[str, Any]) -> OldReward:
    """Look for what paid a run of this config."""
    names = [name for key in _CLASSES if isinstance(name := dig(data, key), str)]
    formula = next((KNOWN[n] for n in names if n in KNOWN), None)
    if formula is not None:
        why = f"what {next(n for n in names if n in KNOWN)} paid"
    else:
        named = [*names, *_functions(data)]
        what = f"what {named[0]} pays is code, not config" if named else "the file names no reward that is known here"
        why = f"{what}: write a formula, or give --reward"
        if "gsm8k" in str(dig(data, "data.train_files")).lower() and not named:
            why += "; verl's own rule for GSM8K is gsm8k()"
    instead = f"{formula} pays the run" if formula else "a formula pays the run"
    return OldReward(formula, why, dict.fromkeys(_keys(data), instead))


def _functions(data: Mapping[str, Any]) -> Iterator[str]:
    for section in _FUNCTIONS:
        path = dig(data, f"{section}.path")
        if path is not None:
            yield f"{path}:{dig(data, f'{section}.name') or 'compute_score'}"


def _keys(data: Mapping[str, Any]) -> Iterator[str]:
    """The keys, each leaf by itself, that say what pays; not those that rewardkit itself put there."""
    for key in (*_MANAGERS, *_FUNCTIONS, *_CLASSES):
        value = dig(data, key)
        if isinstance(value, Mapping):
            if _OURS not in str(value):
                yield from _leaves(value, key)
        elif value is not None and key not in _FUNCTIONS:
            yield key


def _leaves(section: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}.{name}")
        elif value is not None:
            yield f"{prefix}.{name}"
