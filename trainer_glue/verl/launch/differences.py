"""Whether a run may go on where an earlier one stopped: what the two configs differ in, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import ConfigError

TOTAL_STEPS: Final = "trainer.total_training_steps"
_SHOWN: Final = 8
_WIDTH: Final = 100
_ABSENT: Final = "(not set)"


@dataclass(frozen=True, slots=True)
class Difference:
    """A key whose value is another than in the earlier run."""

    key: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.key}: was {_short(self.before)}, now {_short(self.now)}"


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """What differs, except for a total number of steps that was raised."""
    old, new = dict(_flat(before)), dict(_flat(now))
    keys = [*old, *(k for k in new if k not in old)]
    pairs = [Difference(k, old.get(k, _ABSENT), new.get(k, _ABSENT)) for k in keys]
    return [d for d in pairs if d.before != d.now and not (d.key == TOTAL_STEPS and _is_raised(d.before, d.now))]


def portable(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The config with paths below the run's folder made relative to it: a run may be moved as a whole."""

    def relative(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: relative(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [relative(v) for v in value]
        if isinstance(value, str) and (value == str(folder) or value.startswith(f"{folder}/")):
            return f".{value[len(str(folder)) :]}"
        return value

    return {k: relative(v) for k, v in config.items()}


def refuse(folder: Path, changed: list[Difference]) -> ConfigError:
    """The error for a folder whose run is another one."""
    shown = [str(d) for d in changed[:_SHOWN]]
    if len(changed) > _SHOWN:
        shown.append(f"and {len(changed) - _SHOWN} more")
    return ConfigError(
        "\n  ".join([f"{folder} holds a run with other settings:", *shown]),
        hint="give the settings of that run to go on with it, or another --out for a new run",
    )


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is_raised(before: Any, now: Any) -> bool:
    return isinstance(before, int) and isinstance(now, int) and now > before


def _short(value: Any) -> str:
    text = value if value is _ABSENT else repr(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
