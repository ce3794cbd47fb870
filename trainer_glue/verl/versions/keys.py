"""What became of the keys that verl 0.2 to 0.9.0 had in their config files and 0.9.1 has no more, or never reads.

A table and nothing else: `dead_keys` says it to a user whose file has such a key, `migration` rewrites the file by it.
The entries are what the config files of verl's releases have and the schema of 0.9.1 has not, for FSDP and Megatron.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.diagnostics import Severity

Get = Callable[[str], Any]
"""From a dotted key to the value that the file has for it, or None."""


class Dropped:
    """What a conversion returns for a value that has no place any more."""

    def __init__(self, why: str) -> None:
        self.why = why


@dataclass(frozen=True, slots=True)
class Moved:
    """A key of an older verl, or a section, and what became of it.

    Attributes:
        old: the dotted key; keys below it are meant too.
        why: what verl 0.9.1 makes of it.
        new: where the value belongs now: the first of these that the schema knows. Empty: nowhere.
        hint: what to do about it; by default, to set the new key or to leave the old one out.
        convert: from the old value to the new one.
        ignored: whether verl 0.9.1 takes the key and does nothing with it.
        severity: a warning where verl still reads it.
    """

    old: str
    why: str
    new: tuple[str, ...] = ()
    hint: str = ""
    convert: Callable[[Any, Get], Any] | None = None
    ignored: bool = False
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class OldValue:
    """A value that verl no longer takes, for a key that it still has.

    Attributes:
        key: the dotted key.
        value: what may not stand there.
        why: what became of it.
        new: what to write; None to leave the key out.
    """

    key: str
    value: str
    why: str
    new: str | None = None


FORMULA: Final = "a formula pays the run: set rewardkit.reward, or give --reward"
_IGNORED: Final = "is accepted by verl and ignored"
_GONE: Final = "was removed"
_RENAMED: Final = "was renamed"
_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_MODEL: Final = "reward.reward_model"


def _served(value: Any, get: Get) -> Any:
    """The value, where a reward model is used."""
    return value if get("reward_model.enable") is True else Dropped("there is no reward model (enable is not true)")


def _enabled(value: Any, get: Get) -> Any:
    return value if value is True else Dropped("off is the default")


def _one_checkpoint(value: Any, get: Get) -> Any:
    return 1 if value is True else Dropped("to keep all of them is the default")


def _level(value: Any, get: Get) -> Any:
    if value is not True:
        return Dropped("off is the default")
    level = get("algorithm.rollout_is_level")
    return level if level in ("token", "sequence") else "token"


def _threshold(value: Any, get: Get) -> Any:
    return Dropped("off is the default") if value is None else value


def _loss(value: Any, get: Get) -> Any:
    return "reinforce" if value is True else Dropped("ppo_clip is the default")


_REWARDS: Final = (
    Moved("custom_reward_function", _IGNORED, hint=FORMULA, ignored=True),
    Moved("reward_manager", "is no longer a key of verl's root", hint=FORMULA),
    Moved("custom_reward_class", "is no longer a key of verl's root", hint=FORMULA),
    Moved("reward_model.custom_reward_class", "was never read by verl", hint=FORMULA),
    Moved("reward_model.reward_manager", _IGNORED, hint=FORMULA, ignored=True),
    *(
        Moved(f"reward_model.{key}", _IGNORED, hint=FORMULA, ignored=True)
        for key in ("reward_loop_source", "reward_loop_module_path", "reward_loop_class_name")
    ),
    Moved("reward_model.enable", _IGNORED, (f"{_MODEL}.enable",), convert=_enabled, ignored=True),
    Moved("reward_model.num_workers", _IGNORED, ("reward.num_workers",), ignored=True),
    Moved("reward_model.reward_kwargs", _IGNORED, ("reward.reward_kwargs",), ignored=True),
    Moved("reward_model.sandbox_fusion", _IGNORED, ("reward.sandbox_fusion",), ignored=True),
    Moved("reward_model.model.path", _IGNORED, (f"{_MODEL}.model_path",), convert=_served, ignored=True),
    *(
        Moved(f"reward_model.{key}", _IGNORED, (f"{_MODEL}.{key}",), convert=_served, ignored=True)
        for key in ("enable_resource_pool", "n_gpus_per_node", "nnodes", "rollout")
    ),
    Moved("reward_model.use_reward_loop", _GONE, hint="leave it out: it is the only way"),
    Moved(
        "reward_model.launch_reward_fn_async", _GONE, hint="leave it out: rewards are always computed asynchronously"
    ),
    Moved(
        "reward_model",
        _IGNORED,
        hint=f"{FORMULA}; a reward model is served by a rollout engine, whose keys are {_MODEL}.rollout",
        ignored=True,
    ),
    Moved("sandbox_fusion", _IGNORED, ("reward.sandbox_fusion",), ignored=True),
    Moved("reward.launch_reward_fn_async", _GONE, hint="leave it out: rewards are always computed asynchronously"),
    Moved("actor_rollout_ref.reward_model.enable", "is ignored here", (f"{_MODEL}.enable",), convert=_enabled),
    Moved("actor_rollout_ref.reward_model", "is ignored here", hint=f"moved to {_MODEL}"),
)

_DATA: Final = (
    Moved(
        "data.chat_template",
        "is ignored by verl",
        hint="set rewardkit.chat_template: llama-3, or actor_rollout_ref.model.custom_chat_template",
    ),
    Moved("data.continuous_token", _GONE, hint="leave it out: prompts are always continued by tokens"),
    Moved(
        "data.val_batch_size",
        "does nothing any more: the engine gets all validation prompts at once",
        ignored=True,
        severity=Severity.WARNING,
    ),
)

_TRAINED: Final = tuple(
    moved
    for role in (_ACTOR, "critic")
    for moved in (
        Moved(
            f"{role}.optim.warmup_style",
            "is deprecated, and overrides lr_scheduler_type",
            (f"{role}.optim.lr_scheduler_type", f"{role}.optim.lr_decay_style"),
            ignored=True,
            severity=Severity.WARNING,
        ),
        Moved(
            f"{role}.optim.min_lr_ratio",
            "is no longer a key of this engine",
            hint="set min_lr, which is a rate, not a ratio",
        ),
        Moved(
            f"{role}.checkpoint.contents",
            "was split in two",
            (f"{role}.checkpoint.save_contents",),
            hint=f"set {role}.checkpoint.save_contents (load_contents follows it)",
        ),
        Moved(f"{role}.checkpoint.mbridge_config", "is a key of the Megatron engine's alone"),
    )
)
_ROLES: Final = tuple(
    moved
    for role, engine, section in (
        (_ACTOR, f"{_ACTOR}.fsdp_config", "fsdp_config"),
        (_REF, f"{_REF}.fsdp_config", "fsdp_config"),
        ("critic", "critic.fsdp", "fsdp"),
    )
    for moved in (
        Moved(f"{role}.{section}.grad_offload", _GONE, hint="leave it out: param_offload moves the gradients too"),
        Moved(f"{role}.megatron.grad_offload", _GONE, hint="leave it out: param_offload moves the gradients too"),
        Moved(
            f"{role}.megatron.num_layers_per_virtual_pipeline_stage",
            _GONE,
            hint="set virtual_pipeline_model_parallel_size, which counts stages, not layers",
        ),
        Moved(f"{role}.load_weight", _GONE, hint="leave it out: weights are always loaded"),
        Moved(f"{role}.sum_pi_squared_checkpointing", _GONE),
        Moved(
            f"{role}.router_replay",
            "moved into the engine's section",
            (f"{engine}.router_replay", f"{role}.megatron.router_replay", f"{role}.veomni.router_replay"),
        ),
        Moved(f"{role}.profiler.discrete", "moved", (f"{role}.profiler.tool_config.nsys.discrete",)),
        *(
            Moved(f"{role}.profiler.tool_config.torch.{step}", _GONE, hint="set schedule, which counts mini-batches")
            for step in ("step_start", "step_end")
        ),
    )
)

_WORKERS: Final = (
    Moved(
        "actor_rollout_ref.critic",
        "was never read here",
        hint="leave it out: a critic is made for algorithm.adv_estimator=gae only (critic.enable)",
    ),
    Moved("actor_rollout_ref.profiler", "moved", (f"{_ACTOR}.profiler",)),
    Moved(
        "actor_rollout_ref.model.gradient_checkpointing_kwargs",
        _GONE,
        hint=f"Megatron's are {_ACTOR}.megatron.override_transformer_config.recompute_method and its like",
    ),
    Moved(f"{_REF}.param_offload", "moved", (f"{_REF}.megatron.param_offload", f"{_REF}.fsdp_config.param_offload")),
    Moved(f"{_REF}.model", _GONE, hint="leave it out: the reference is the model that training starts from"),
    Moved("critic.kl_ctrl", "moved", ("algorithm.kl_ctrl",)),
    Moved("critic.model.fsdp_config", "moved", ("critic.fsdp",)),
    Moved("critic.model.gradient_checkpointing_kwargs", _GONE),
    Moved(f"{_ROLLOUT}.use_fire_sampling", _GONE),
    Moved(f"{_ROLLOUT}.chat_scheduler", _GONE, hint=f"an agent loop does this: {_ROLLOUT}.agent"),
    Moved(f"{_ROLLOUT}.multi_turn.completion_callback", _GONE, hint=f"an agent loop does this: {_ROLLOUT}.agent"),
    Moved(f"{_ROLLOUT}.multi_turn.interaction_config_path", _GONE, hint=f"an agent loop does this: {_ROLLOUT}.agent"),
    Moved(f"{_ROLLOUT}.multi_turn.max_turns", _RENAMED, (f"{_ROLLOUT}.multi_turn.max_assistant_turns",)),
    Moved(f"{_ROLLOUT}.profiler.discrete", _GONE, hint=f"set {_ROLLOUT}.profiler.tool_config.torch.discrete"),
    *(
        Moved(f"{_ROLLOUT}.profiler.tool_config.torch.{step}", _GONE, hint="set schedule, which counts mini-batches")
        for step in ("step_start", "step_end")
    ),
    Moved(f"{_ROLLOUT}.skip_rollout", "moved", ("skip.rollout_tq.enable",)),
    Moved(f"{_ROLLOUT}.skip_dump_dir", "moved", ("skip.rollout_tq.dump_dir",)),
    Moved(f"{_ROLLOUT}.skip.enable", "moved", ("skip.rollout_tq.enable",)),
    Moved(f"{_ROLLOUT}.skip.dump_dir", "moved", ("skip.rollout_tq.dump_dir",)),
    Moved(f"{_ROLLOUT}.skip", _GONE, hint="set skip.rollout_tq.steps and action"),
    Moved(
        f"{_ROLLOUT}.update_weights_bucket_megabytes",
        "moved",
        (f"{_ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes",),
    ),
)

_CORRECTION: Final = "algorithm.rollout_correction"
_ALGORITHM: Final = (
    Moved("algorithm.rollout_is", "moved", (f"{_CORRECTION}.rollout_is",), convert=_level),
    Moved("algorithm.rollout_is_threshold", "moved", (f"{_CORRECTION}.rollout_is_threshold",), convert=_threshold),
    Moved("algorithm.rollout_is_level", _GONE, hint=f"{_CORRECTION}.rollout_is is the level"),
    Moved("algorithm.rollout_is_mode", _GONE, hint=f"to mask, set {_CORRECTION}.rollout_rs and its threshold"),
    Moved("algorithm.rollout_is_threshold_lower", _GONE, hint='a lower bound is written "lower_upper"'),
    Moved("algorithm.rollout_is_veto_threshold", _GONE),
    Moved(f"{_CORRECTION}.rollout_rs_threshold_lower", _GONE, hint='rollout_rs_threshold takes "lower_upper"'),
    Moved(f"{_CORRECTION}.rollout_token_veto_threshold", _GONE),
    Moved(f"{_CORRECTION}.use_policy_gradient", _RENAMED, (f"{_CORRECTION}.loss_type",), convert=_loss),
)

_NSYS: Final = "global_profiler.global_tool_config.nsys"
_TRAINER: Final = (
    Moved("ray_init.timeline_json_file", "moved", ("ray_kwargs.timeline_json_file",)),
    Moved("ray_init", "moved", ("ray_kwargs.ray_init",)),
    Moved("trainer.val_generations_to_log_to_wandb", _RENAMED, ("trainer.log_val_generations",)),
    Moved(
        "trainer.remove_previous_ckpt_in_save",
        _RENAMED,
        ("trainer.max_actor_ckpt_to_keep",),
        hint="set trainer.max_actor_ckpt_to_keep: 1",
        convert=_one_checkpoint,
    ),
    Moved("trainer.use_legacy_worker_impl", _GONE, hint="leave it out: there is one implementation"),
    Moved("trainer.profile_steps", "moved", ("global_profiler.steps",)),
    Moved("trainer.controller_nsight_options", "moved", (f"{_NSYS}.controller_nsight_options",)),
    Moved("trainer.worker_nsight_options", "moved", (f"{_NSYS}.worker_nsight_options",)),
    Moved("trainer.npu_profile", _GONE, hint=f"set {_ACTOR}.profiler.tool_config.npu"),
)

MOVED: Final = (*_REWARDS, *_DATA, *_TRAINED, *_ROLES, *_WORKERS, *_ALGORITHM, *_TRAINER)
"""Every dead key; the longest entry that covers a key is its own."""

OLD_VALUES: Final = (
    *(
        OldValue(f"{_ROLLOUT}.load_format", value, "which no engine knows any more", new)
        for value, new in (
            ("dummy_dtensor", "dummy"),
            ("dummy_hf", "dummy"),
            ("dummy_megatron", "dummy"),
            ("dtensor", "auto"),
            ("megatron", "auto"),
        )
    ),
    OldValue(f"{_ROLLOUT}.mode", "sync", "which was removed: rollouts are asynchronous"),
    *(
        OldValue(f"{_CORRECTION}.rollout_rs", value, "which was renamed", new)
        for value, new in (("token", "token_k1"), ("sequence", "seq_sum_k1"), ("geometric", "seq_mean_k1"))
    ),
    OldValue("trainer.logger", "tracking", "which was removed", "wandb"),
)
"""Values that verl no longer takes."""
