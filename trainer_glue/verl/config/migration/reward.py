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
_BUFFERS: Final = (
    "reward_model.overlong_buffer",
    "reward_model.reward_kwargs.overlong_buffer_cfg",
    "reward.reward_kwargs.overlong_buffer_cfg",
)
"""Where DAPO's penalty for overlong responses was set."""
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
    penalty = _overlong(data)
    if formula is not None:
        why = f"what {next(n for n in names if n in KNOWN)} paid"
    elif _is_dapo(data) and not list(_functions(data)):
        verdict = "gsm8k()" if "gsm8k" in str(dig(data, "data.train_files")).lower() else "when(math_equal(), 1, -1)"
        formula, why = " + ".join(filter(None, (verdict, penalty))), "what verl's manager dapo paid"
    else:
        named = [*names, *_functions(data)]
        what = f"what {named[0]} pays is code, not config" if named else "the file names no reward that is known here"
        why = f"{what}: write a formula, or give --reward"
        if "gsm8k" in str(dig(data, "data.train_files")).lower() and not named:
            why += "; verl's own rule for GSM8K is gsm8k()"
    if penalty is not None and formula is None:
        why += f", with + {penalty} for overlong_buffer"
    instead = f"{formula} pays the run" if formula else "a formula pays the run"
    dropped = dict.fromkeys(_keys(data), instead)
    for key in _BUFFERS:
        if isinstance(buffer := dig(data, key), Mapping):
            of_it = "it was not enabled" if penalty is None else f"{penalty} in the formula is this penalty"
            dropped |= dict.fromkeys(_leaves(buffer, key), of_it)
    return OldReward(formula, why, dropped)


def _is_dapo(data: Mapping[str, Any]) -> bool:
    return any("dapo" in (dig(data, key), dig(data, f"{key}.name")) for key in _MANAGERS)


def _overlong(data: Mapping[str, Any]) -> str | None:
    """DAPO's penalty as a term; None where it was not enabled, or where its lengths are not in the file."""
    for key in _BUFFERS:
        limit = dig(data, f"{key.rpartition('.')[0]}.max_resp_len") or dig(data, "data.max_response_length")
        length, factor = dig(data, f"{key}.len"), dig(data, f"{key}.penalty_factor")
        if dig(data, f"{key}.enable") is True and isinstance(length, int):
            limit = limit if isinstance(limit, int) else 512  # verl's own default of data.max_response_length
            weight = "" if factor in (None, 1) else f"{factor:g} * "
            return f"{weight}overlong({limit}, {length})"
    return None


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
