"""Keys of older verl versions that the tested one refuses or, worse, accepts and ignores; and what replaced them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_glue.verl.config.findings import Severity


@dataclass(frozen=True, slots=True)
class DeadKey:
    """Why a key does nothing any more, and what to write. A warning where verl still reads it."""

    message: str
    hint: str
    severity: Severity = "error"


_FORMULA: Final = "a formula pays the run: set rewardkit.reward, or give --reward"
_IGNORED: Final = "is accepted by verl and ignored"

_SECTIONS: Final[Mapping[str, DeadKey]] = {
    "custom_reward_function": DeadKey(_IGNORED, _FORMULA),
    "reward_model": DeadKey(_IGNORED, f"{_FORMULA}; a reward model's keys moved to reward.reward_model"),
    "sandbox_fusion": DeadKey(_IGNORED, "moved to reward.sandbox_fusion"),
    "reward_manager": DeadKey("is no key of verl's root any more", _FORMULA),
    "custom_reward_class": DeadKey("is no key of verl's root any more", _FORMULA),
    "actor_rollout_ref.critic": DeadKey(
        "was never read here", "leave it out: a critic is made for algorithm.adv_estimator=gae only (critic.enable)"
    ),
    "actor_rollout_ref.reward_model": DeadKey("is ignored here", "moved to reward.reward_model"),
}
_LEAVES: Final[Mapping[str, DeadKey]] = {
    "data.chat_template": DeadKey(
        "is ignored by verl", "set rewardkit.chat_template: llama-3, or actor_rollout_ref.model.custom_chat_template"
    ),
    "actor_rollout_ref.actor.optim.warmup_style": DeadKey(
        "is deprecated, and overrides lr_scheduler_type",
        "set actor_rollout_ref.actor.optim.lr_scheduler_type",
        "warning",
    ),
    "critic.optim.warmup_style": DeadKey(
        "is deprecated, and overrides lr_scheduler_type", "set critic.optim.lr_scheduler_type", "warning"
    ),
    "actor_rollout_ref.actor.checkpoint.contents": DeadKey(
        "was split in two", "set actor_rollout_ref.actor.checkpoint.save_contents (and load_contents)"
    ),
    "actor_rollout_ref.actor.fsdp_config.grad_offload": DeadKey(
        "was removed", "leave it out: param_offload moves the gradients too"
    ),
    "actor_rollout_ref.rollout.use_fire_sampling": DeadKey("was removed", "leave it out"),
    "reward.launch_reward_fn_async": DeadKey("was removed", "leave it out: rewards are always computed asynchronously"),
    "trainer.val_generations_to_log_to_wandb": DeadKey("was renamed", "set trainer.log_val_generations"),
    "trainer.remove_previous_ckpt_in_save": DeadKey("was renamed", "set trainer.max_actor_ckpt_to_keep: 1"),
}
_VALUES: Final[Mapping[tuple[str, str], DeadKey]] = {
    ("actor_rollout_ref.rollout.load_format", "dummy_dtensor"): DeadKey(
        "is 'dummy_dtensor', which no engine knows any more", "set dummy"
    ),
    ("actor_rollout_ref.rollout.mode", "sync"): DeadKey("is 'sync', which was removed", "leave it out"),
}


def dead_key(path: str, value: Any) -> DeadKey | None:
    """What to say of a key that older versions of verl had, or None. A null leaves verl's own default in place."""
    found = _LEAVES.get(path)
    if found is None and isinstance(value, str):
        found = _VALUES.get((path, value))
    if found is None:
        found = next((d for s, d in _SECTIONS.items() if path == s or path.startswith(f"{s}.")), None)
        if found is not None and isinstance(value, Mapping) and path in {"custom_reward_function", "reward_model"}:
            return None  # its own keys are reported, each with its line
    if found is None or (value is None and path != "actor_rollout_ref.critic") or _all_null(value):
        return None
    return found


def _all_null(value: Any) -> bool:
    """True for a section in which nothing is set, such as the legacy sections of verl's own default config."""
    return isinstance(value, Mapping) and all(v is None or _all_null(v) for v in value.values())
