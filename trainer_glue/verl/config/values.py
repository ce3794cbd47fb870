"""Checks of values against what makes sense for their keys: choices and ranges of `settings`, and the engine."""

from __future__ import annotations

import difflib
import importlib.metadata
import os
from collections.abc import Mapping
from typing import Any, Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.keys import Where
from trainer_glue.verl.config.settings import KL, SETTINGS, Setting
from trainer_glue.verl.config.written import SECTION, dig

_ACTOR: Final = "actor_rollout_ref.actor"
_ENGINES: Final[Mapping[str, tuple[str, str]]] = {
    "fsdp": ("fsdp_config", "dp"),
    "fsdp2": ("fsdp_config", "dp"),
    "fsdp_turbo": ("fsdp_config", "dp"),
    "megatron": ("megatron", "megatron"),
    "veomni": ("veomni", "veomni"),
    "torchtitan": ("torchtitan", "torchtitan"),
}
"""The section that each strategy is configured by, and the config group `model_engine` that brings the section."""
_AT_LEAST_ONE: Final = (
    "data.train_batch_size",
    "data.max_prompt_length",
    "data.max_response_length",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "actor_rollout_ref.rollout.n",
)
"""`batches` says of these what it needs them for."""


def check_values(config: Mapping[str, Any], where: Where) -> list[ConfigDiagnostic]:
    """Diagnostics on values that have the right type and make no sense, wherever they come from.

    Args:
        config: the whole config, filled in.
        where: from a key to where the user set it.
    """
    plugged = _is_plugged(config)
    diagnostics = [
        ConfigDiagnostic(
            "wrong-value",
            f"is {dig(config, s.key)!r}; expected {s.expected}",
            where(s.key),
            hint or None,
            key=s.key,
            expected=s.expected,
        )
        for s in SETTINGS.values()
        if s.key not in _AT_LEAST_ONE
        and not s.key.startswith(f"{SECTION}.")
        and not (plugged and s.plugged)
        and (hint := _fault(s, dig(config, s.key))) is not None
    ]
    strategy = dig(config, f"{_ACTOR}.strategy")
    section, group = _ENGINES.get(str(strategy), ("", ""))
    if section and dig(config, f"{_ACTOR}.{section}") is None:
        key = f"{_ACTOR}.strategy"
        message = f"is {strategy!r}, and the config has no section {_ACTOR}.{section}"
        diagnostics.append(
            ConfigDiagnostic("wrong-value", message, where(key), f"give model_engine={group} beside", key=key)
        )
    return diagnostics


def _fault(setting: Setting, value: Any) -> str | None:
    """None where the value makes sense; else a hint, empty where there is none."""
    if isinstance(value, str) and setting.choices:
        if value in setting.choices or (setting.choices is KL and value.removesuffix("+") in KL):
            return None
        close = difflib.get_close_matches(value, setting.choices, n=1, cutoff=0.5)
        return f"did you mean {close[0]}?" if close and value != "???" else "" if value != "???" else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = setting.low, setting.high
    too_low = low is not None and (value <= low if setting.above else value < low)
    return "" if too_low or (high is not None and value > high) else None


def _is_plugged(config: Mapping[str, Any]) -> bool:
    """Whether code of the user's may have added to verl's registries."""
    modules = os.environ.get("VERL_USE_EXTERNAL_MODULES") or dig(config, "actor_rollout_ref.model.external_lib")
    return bool(modules) or any(importlib.metadata.entry_points(group="verl.plugins"))
