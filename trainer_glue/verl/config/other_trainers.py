"""A config of another trainer, told as one thing and not as twenty unknown keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.schema import Key
from trainer_glue.verl.config.written import SECTION
from trainer_glue.verl.config.yaml_file import YamlFile
from trainer_glue.verl.versions.keys import MOVED

_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "axolotl": ("base_model", "datasets", "micro_batch_size", "sequence_len"),
    "ms-swift": ("rlhf_type", "external_plugins", "train_type"),
    "LLaMA-Factory": ("finetuning_type", "stage", "cutoff_len"),
    "NeMo-RL": ("grpo", "policy", "loss_fn", "cluster"),
    "OpenRLHF": ("pretrain", "remote_rm_url", "rollout_batch_size", "n_samples_per_prompt"),
    "TRL": ("model_name_or_path", "num_generations", "per_device_train_batch_size", "learning_rate", "reward_funcs"),
}
"""Top-level keys by which a trainer's file is known; the first trainer with two of them."""
_OURS: Final = frozenset({SECTION, "hydra", "defaults"}) | {moved.old.partition(".")[0] for moved in MOVED}


def not_verls(file: YamlFile, schema: Key) -> ConfigDiagnostic | None:
    """What to say of a file of which less than half the top-level keys are verl's, of any version; else None."""
    foreign = [key for key in file.data if key not in schema.children and key not in _OURS]
    if len(foreign) * 2 <= len(file.data):
        return None
    trainer = next((name for name, marks in _MARKS.items() if len(set(marks) & set(file.data)) >= 2), None)
    named = ", ".join(foreign[:4]) + (", ..." if len(foreign) > 4 else "")
    if trainer is None and len(foreign) < len(file.data):
        return None
    whose = f"is a config of {trainer}'s, not of verl's" if trainer else "has no key of verl's"
    hint = (
        f"a formula pays a run of {trainer} through its adapter: see the page on other trainers"
        if trainer
        else "expected sections such as data:, actor_rollout_ref:, trainer:"
    )
    return ConfigDiagnostic("not-verl", f"{whose}: {named}", str(file.path), hint)
