"""A config as arguments of verl's own command line: what differs from verl's defaults, in hydra's grammar."""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.engine.loading import RewardSource
from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.config.wiring import wire_reward
from trainer_glue.verl.versions.installed import find_verl

_BARE: Final = re.compile(r"[A-Za-z_/.][\w/.\-]*", re.ASCII)
"""Text that hydra reads as it is; all else goes into quotes."""
_WORDS: Final = ("true", "false", "null", "nan", "inf")
_REFERENCE: Final = re.compile(r"\$\{[\w.]+\}")
_QUOTE: Final = re.compile(r'(\\*)("|\Z)')


@dataclass(frozen=True, slots=True)
class Argument:
    """One override.

    Attributes:
        key: the dotted key.
        value: what it is set to.
        mark: what stands before the key: `+` for a new one, `~` for one that is taken out.
    """

    key: str
    value: Any
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.mark}{self.key}" if self.mark == "~" else f"{self.mark}{self.key}={hydra_value(self.value)}"


def reward_arguments(reward: RewardSource) -> list[Argument]:
    """What makes a run of verl's one that the reward pays.

    Raises:
        MissingDependencyError: verl is not installed.
    """
    defaults, _ = composed(find_verl())
    wanted = copy.deepcopy(defaults)
    wire_reward(wanted, reward)
    return [a for a in arguments(defaults, wanted) if a.value is not None]


def config_arguments(wanted: Mapping[str, Any], groups: Sequence[str] = ()) -> list[str]:
    """The overrides that make verl's default config this one.

    Args:
        wanted: the whole config, interpolations kept.
        groups: overrides that choose config groups; they come first.
    """
    defaults, _ = composed(find_verl(), tuple(groups))
    return [*groups, *(str(a) for a in arguments(defaults, wanted))]


def arguments(defaults: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> Iterator[Argument]:
    """The overrides that lead from one config to another."""
    for name, value in wanted.items():
        key = f"{prefix}{name}"
        if name not in defaults:
            yield from _new(key, value)
        elif isinstance(value, Mapping) and isinstance(defaults[name], Mapping):
            yield from arguments(defaults[name], value, f"{key}.")
        elif value != defaults[name] or isinstance(value, bool) != isinstance(defaults[name], bool):
            yield Argument(key, value)
    for name in defaults:
        if name not in wanted:
            yield Argument(f"{prefix}{name}", None, "~")


def hydra_value(value: Any) -> str:
    """A value as hydra's grammar reads it back."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            bare = _BARE.fullmatch(value) and value.lower() not in _WORDS
            return value if bare or _REFERENCE.fullmatch(value) else _quoted(value)
        case Mapping():
            return f"{{{','.join(f'{k}:{hydra_value(v)}' for k, v in value.items())}}}"
        case list() | tuple():
            return f"[{','.join(hydra_value(v) for v in value)}]"
        case _:
            return repr(value)


def quoted_lines(parts: Sequence[str]) -> str:
    """Arguments for a shell, one a line, each but the last with a backslash behind it."""
    return " \\\n".join(shlex.quote(part) for part in parts)


def _new(key: str, value: Any) -> Iterator[Argument]:
    if isinstance(value, Mapping) and value:
        for name, below in value.items():
            yield from _new(f"{key}.{name}", below)
    else:
        yield Argument(key, value, "+")


def _quoted(text: str) -> str:
    """In double quotes, which a shell's single quotes go around; backslashes count only before a quote."""
    return '"' + _QUOTE.sub(lambda m: m[1] * 2 + ('\\"' if m[2] else ""), text) + '"'
