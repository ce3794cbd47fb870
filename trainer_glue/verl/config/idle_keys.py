"""Keys that verl reads only where another key says so: set without it, they do nothing and nobody says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.written import Written, dig

_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_DYNAMIC: Final = (
    f"{_ACTOR}.use_dynamic_bsz",
    f"{_REF}.log_prob_use_dynamic_bsz",
    f"{_ROLLOUT}.log_prob_use_dynamic_bsz",
)


@dataclass(frozen=True, slots=True)
class Needs:
    """A key, and the keys of which one has to have a value for the key to be read."""

    key: str
    one_of: tuple[str, ...]
    value: object = True

    @property
    def why(self) -> str:
        """What the user is told."""
        value = "true" if self.value is True else self.value
        return f"does nothing: verl reads it where {self.one_of[0]} is {value}"


IDLE: Final = (
    Needs(f"{_ACTOR}.ppo_max_token_len_per_gpu", _DYNAMIC),
    Needs(f"{_REF}.log_prob_max_token_len_per_gpu", _DYNAMIC[1:2]),
    Needs(f"{_ROLLOUT}.log_prob_max_token_len_per_gpu", _DYNAMIC[2:]),
    Needs("critic.ppo_max_token_len_per_gpu", ("critic.use_dynamic_bsz",)),
    Needs(f"{_ACTOR}.kl_loss_coef", (f"{_ACTOR}.use_kl_loss",)),
    Needs(f"{_ACTOR}.kl_loss_type", (f"{_ACTOR}.use_kl_loss",)),
    Needs("algorithm.kl_penalty", ("algorithm.use_kl_in_reward",)),
    Needs("algorithm.kl_ctrl", ("algorithm.use_kl_in_reward",)),
    Needs("trainer.resume_from_path", ("trainer.resume_mode",), "resume_path"),
)


def idle(get: Callable[[str], Any]) -> Iterator[Needs]:
    """The keys that this config gives verl no reason to read.

    Args:
        get: from a dotted key to its value in the whole config.
    """
    return (n for n in IDLE if all(get(key) != n.value for key in n.one_of))


def check_idle(config: Mapping[str, Any], defaults: Mapping[str, Any], written: Written) -> list[ConfigDiagnostic]:
    """A warning for each idle key that the user set to another value than verl's own."""
    return [
        ConfigDiagnostic("idle-key", needs.why, written.where(key), key=key)
        for needs in idle(lambda key: dig(config, key))
        for key in written.keys_below(needs.key)
        if dig(config, key) != dig(defaults, key)
    ]
