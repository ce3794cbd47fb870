"""Ranks, and whether the run is for this machine's CPU: what verl needs there is put over the file's own values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer_glue.verl import cpu
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.written import Written, dig, put
from trainer_glue.verl.reward_model import ENABLE

PER_NODE: Final = "trainer.n_gpus_per_node"
NODES: Final = "trainer.nnodes"
ROLLOUT: Final = "actor_rollout_ref.rollout.name"


def wire_machine(
    config: dict[str, Any], written: Written, *, accelerator: bool, ranks: int | None, dry_run: bool
) -> tuple[int, bool, list[ConfigDiagnostic]]:
    """Set the ranks and, without an accelerator, the keys that verl's CPU path needs.

    Args:
        config: the config, changed in place.
        written: what the user wrote; the command line wins over the CPU's keys.
        accelerator: whether this machine has one.
        ranks: processes that train on this machine; None for what the config says.
        dry_run: a config for GPUs is left as one on a machine without.

    Returns:
        Ranks over all nodes, whether the run is for accelerators, and diagnostics.
    """
    gpus = _gpus_wanted(config, written)
    if not accelerator and gpus and ranks is None:
        message = f"this config is for {gpus} GPUs, and there is no accelerator here"
        hint = f"on this machine: {PER_NODE}=1 {NODES}=1"
        diagnostics = [ConfigDiagnostic("no-accelerator", message, written.where(PER_NODE), hint, key=PER_NODE)]
        if dry_run:
            return gpus, True, diagnostics
        return gpus, False, diagnostics
    if ranks is None and not accelerator and not written.is_set(PER_NODE):
        ranks = 1
    if ranks is not None:
        put(config, PER_NODE, ranks)
        put(config, NODES, 1)
    total = _total(config)
    if accelerator or total is None:
        return total or 0, accelerator, []
    return total, False, _wire_cpu(config, written, total)


def _gpus_wanted(config: Mapping[str, Any], written: Written) -> int:
    """How many GPUs a file was written for: an engine that needs one and several ranks. 0 when the CPU will do."""
    if written.on_command_line(PER_NODE) or not (written.is_set(ROLLOUT) and written.is_set(PER_NODE)):
        return 0
    total = _total(config)
    return total if total is not None and total > 1 and dig(config, ROLLOUT) != cpu.ROLLOUT else 0


def _total(config: Mapping[str, Any]) -> int | None:
    """Ranks over all nodes; None when the counts are not numbers, about which there are diagnostics."""
    each, nodes = dig(config, PER_NODE), dig(config, NODES)
    return each * nodes if isinstance(each, int) and isinstance(nodes, int) else None


def _wire_cpu(config: dict[str, Any], written: Written, ranks: int) -> list[ConfigDiagnostic]:
    diagnostics = []
    served = cpu.reward_model_overrides(ranks) if dig(config, ENABLE) is True else {}
    for key, value in {**cpu.overrides(ranks), **served}.items():
        if written.on_command_line(key):
            continue
        before = dig(config, key)
        if written.recipe is None and written.is_set(key) and before != value:
            message = f"is {before!r}; {value!r} is used: there is no accelerator here"
            diagnostics.append(ConfigDiagnostic("cpu", message, written.where(key), key=key))
        put(config, key, value)
    return diagnostics
