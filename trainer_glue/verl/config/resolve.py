"""From what the user wrote to the whole config of a run, with everything that is wrong with it said at once.

Later wins: verl's defaults, the recipe or the user's file, the command line. Over these go the reward's wiring and, on
a machine without an accelerator, what verl's CPU path needs (but not over the command line). verl itself is read,
never imported: a bad config is refused in a second.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rewardkit.diagnostics import Severity
from rewardkit.engine.loading import RewardSource
from rewardkit.errors import MissingDependencyError, RewardKitError
from trainer_glue.verl import cpu
from trainer_glue.verl.config.batches import check_batches
from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.config.data_files import check_data
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic, ConfigErrors, raise_errors
from trainer_glue.verl.config.group_settings import check_group_settings
from trainer_glue.verl.config.idle_keys import check_idle
from trainer_glue.verl.config.keys import check_key, check_keys
from trainer_glue.verl.config.machine import ROLLOUT, wire_machine
from trainer_glue.verl.config.model_folder import check_model
from trainer_glue.verl.config.other_trainers import not_verls
from trainer_glue.verl.config.overrides import Override, parse_overrides
from trainer_glue.verl.config.recipes import DEFAULT, DEFAULT_FOR_MODEL, config_path
from trainer_glue.verl.config.resolved_config import Check, ResolvedConfig
from trainer_glue.verl.config.schema import Key
from trainer_glue.verl.config.values import check_values
from trainer_glue.verl.config.wiring import (
    MODEL,
    OUT,
    TRAIN,
    VAL,
    assets_folder,
    check_integration,
    check_reward_model,
    find_reward,
    wire_files,
    wire_reward,
    wire_template,
)
from trainer_glue.verl.config.written import Written, dig, drop, merge, put, without
from trainer_glue.verl.config.yaml_file import YamlFile, read_yaml
from trainer_glue.verl.tiny import TRAIN_ROWS
from trainer_glue.verl.versions.installed import find_verl

DEFAULT_SEED: Final = 42
ENVIRONMENT: Final = frozenset({"missing-file", "missing-model", "no-accelerator"})
"""Codes of diagnostics about this machine rather than the config: a dry run only warns of them."""


@dataclass(frozen=True)
class Resolved:
    """A run that can start.

    Attributes:
        config: verl's whole config, every interpolation filled in.
        reward: what pays the run.
        diagnostics: warnings, in the order of their places.
        name: the recipe's name, or the stem of the user's file.
        seed: of the data order and of what is made locally.
        ranks: processes that train, over all nodes.
        accelerator: whether the run is for accelerators.
        verl_version: of the installed verl.
        assets: `tiny` when the model or the data have to be made before the run starts, by
            `make_tiny(assets_folder, seed)`; else None.
        assets_folder: where they will be.
        groups: the overrides that choose config groups of verl's.
    """

    config: Mapping[str, Any]
    reward: RewardSource
    diagnostics: tuple[ConfigDiagnostic, ...]
    name: str
    seed: int
    ranks: int
    accelerator: bool
    verl_version: str
    assets: str | None
    assets_folder: Path
    groups: tuple[str, ...]
    _unfilled: Mapping[str, Any] = field(repr=False)

    @property
    def out(self) -> Path:
        """Where checkpoints go."""
        return Path(self.config["trainer"]["default_local_dir"])

    def unfilled(self) -> Any:
        """The config for verl in OmegaConf, interpolations kept: a changed `rollout.n` reaches all that follows it."""
        from omegaconf import OmegaConf

        return OmegaConf.create(dict(self._unfilled))


def resolve(
    source: str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    reward: RewardSource | str | None = None,
    accelerator: bool | None = None,
    ranks: int | None = None,
    out: Path | None = None,
    dry_run: bool = False,
    check: Check | None = None,
) -> Resolved:
    """The whole config of a run.

    Args:
        source: a recipe's name or a YAML file; None for the recipe `tiny`, or `small` when an override names a model.
        overrides: ``key=value``, as hydra reads them.
        reward: what pays the run, over the file's `rewardkit.reward`: as loaded, or as the user named it.
        accelerator: whether the machine has one; None to look.
        ranks: processes that train on this machine; None for what the config says.
        out: the run's folder, over the config's `trainer.default_local_dir`.
        dry_run: what this machine lacks (files, GPUs) is a warning.
        check: what else is to be found, such as the preflight's diagnostics.

    Raises:
        ConfigErrors: everything that is wrong, at once.
    """
    diagnostics: list[ConfigDiagnostic] = []
    try:
        verl = find_verl()
    except MissingDependencyError as e:
        verl = None
        diagnostics.append(ConfigDiagnostic("verl", e.message, hint=e.hint))
    parsed, bad = parse_overrides(overrides, verl.config if verl else Path())
    written, unreadable = _read(source, parsed)
    if any(
        f.code in ("missing-config", "not-verl") for f in unreadable
    ):  # what else is missing would be said of no config
        raise ConfigErrors([*diagnostics, *bad, *unreadable])
    own, bad_own = written.own()
    paid_by, bad_reward = find_reward(reward, own, written)
    diagnostics += [*bad, *unreadable, *written.defaults_list(), *bad_own, *bad_reward]
    if verl is None:
        raise ConfigErrors(diagnostics)
    config, schema = composed(verl, written.groups)
    if (foreign := not_verls(written.file, schema)) is not None:  # all else would be said of no config of verl's
        raise ConfigErrors([foreign])
    key_diagnostics = _check_keys(written, schema)
    diagnostics += key_diagnostics
    invalid = frozenset(f.key for f in key_diagnostics if f.severity is Severity.ERROR)
    merge(config, without(written.theirs, invalid))
    for o in written.verl_overrides:
        if o.key not in invalid:
            _apply(config, o)
    if out is not None:
        put(config, OUT, str(out))
    diagnostics += check_integration(config, written)
    if paid_by is not None:
        wire_reward(config, paid_by)
        diagnostics += check_reward_model(config, written)
    diagnostics += wire_template(config, own, written)
    made, file_diagnostics = wire_files(config, own, written)
    present = cpu.accelerator_present() if accelerator is None else accelerator
    world, on_accelerator, machine_diagnostics = wire_machine(
        config, written, accelerator=present, ranks=ranks, dry_run=dry_run
    )
    diagnostics += [*file_diagnostics, *machine_diagnostics]
    filled, unfilled = _filled(config, written)
    diagnostics += unfilled
    if filled is not None:
        trusted = without(filled, invalid)
        whole_diagnostics, rows = _check_whole(trusted, written, paid_by, made, invalid, world)
        diagnostics += whole_diagnostics
        diagnostics += check_values(trusted, written.where)
        diagnostics += check_idle(trusted, composed(verl, written.groups)[0], written)
        if check is not None:
            diagnostics += check(
                ResolvedConfig(trusted, paid_by, rows, world, on_accelerator, present, made, written.where)
            )
    warnings = raise_errors(_softened(diagnostics) if dry_run else diagnostics)
    assert filled is not None and paid_by is not None  # neither is None without an error
    seed = dig(filled, "data.seed")
    return Resolved(
        config=filled,
        reward=paid_by,
        diagnostics=warnings,
        name=written.name,
        seed=DEFAULT_SEED if seed is None else seed,
        ranks=world,
        accelerator=on_accelerator,
        verl_version=verl.version,
        assets="tiny" if made else None,
        assets_folder=assets_folder(config),
        groups=written.groups,
        _unfilled=config,
    )


def _read(source: str | Path | None, overrides: list[Override]) -> tuple[Written, list[ConfigDiagnostic]]:
    names_model = any(o.key == MODEL for o in overrides)
    wanted = source if source is not None else DEFAULT_FOR_MODEL if names_model else DEFAULT
    try:
        path, recipe = config_path(wanted)
    except RewardKitError as e:
        unread = Written(YamlFile(Path(str(wanted))), None, tuple(overrides))
        return unread, [ConfigDiagnostic("missing-config", e.message, hint=e.hint)]
    file = read_yaml(path)
    return Written(file, recipe, tuple(overrides)), list(file.diagnostics)


def _check_keys(written: Written, schema: Key) -> list[ConfigDiagnostic]:
    diagnostics = check_keys(written.theirs, schema, written.where)
    for o in written.verl_overrides:
        if o.action in ("set", "add"):
            diagnostics += check_key(o.key, o.value, schema, written.where, new=o.action == "add")
        elif o.action == "delete" and schema.find(o.key) is None:
            diagnostics += check_key(o.key, None, schema, written.where)
    return diagnostics


def _apply(config: dict[str, Any], override: Override) -> None:
    if override.action == "delete":
        drop(config, override.key)
    elif isinstance(override.value, Mapping) and isinstance(dig(config, override.key), dict):
        merge(dig(config, override.key), override.value)
    elif override.action != "group":
        put(config, override.key, override.value)


def _filled(config: Mapping[str, Any], written: Written) -> tuple[dict[str, Any] | None, list[ConfigDiagnostic]]:
    """The config as plain data, interpolations filled in."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        filled: dict[str, Any] = OmegaConf.to_container(OmegaConf.create(dict(config)), resolve=True)
    except OmegaConfBaseException as e:
        key = next((k for k in written.interpolations() if _fails(config, k)), str(e.full_key or ""))
        return None, [ConfigDiagnostic("interpolation", str(e).splitlines()[0], written.where(key), key=key)]
    return filled, []


def _fails(config: Mapping[str, Any], key: str) -> bool:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        OmegaConf.select(OmegaConf.create(dict(config)), key)
    except OmegaConfBaseException:
        return True
    return False


def _check_whole(
    trusted: Mapping[str, Any],
    written: Written,
    reward: RewardSource | None,
    made: frozenset[str],
    invalid: frozenset[str],
    ranks: int,
) -> tuple[list[ConfigDiagnostic], int | None]:
    """What only the whole config shows (required keys, files, batches), and the number of training rows.

    Keys that were refused are not in it.
    """
    diagnostics: list[ConfigDiagnostic] = []
    if dig(trusted, ROLLOUT) in (None, "???") and ROLLOUT not in invalid:
        message = "is not set, and verl has no default for it"
        diagnostics.append(
            ConfigDiagnostic("required", message, written.where(ROLLOUT), "vllm, or sglang", key=ROLLOUT)
        )
    rows: int | None = TRAIN_ROWS
    if TRAIN not in made:
        rows = None
        if not invalid & {TRAIN, VAL, "data.prompt_key"}:
            of_data, rows = check_data(trusted, reward, written.where)
            diagnostics += of_data
    for key in ("actor_rollout_ref.model", "critic.model"):
        if f"{key}.path" not in made and (key != "critic.model" or _uses_critic(trusted)):
            diagnostics += check_model(dig(trusted, key) or {}, key, written.where)
    diagnostics += check_group_settings(trusted, reward, written.where)
    return diagnostics + check_batches(trusted, rows, ranks, written.where), rows


def _uses_critic(config: Mapping[str, Any]) -> bool:
    enabled = dig(config, "critic.enable")
    return bool(enabled) if enabled is not None else dig(config, "algorithm.adv_estimator") == "gae"


def _softened(diagnostics: Iterable[ConfigDiagnostic]) -> list[ConfigDiagnostic]:
    return [dataclasses.replace(f, severity=Severity.WARNING) if f.code in ENVIRONMENT else f for f in diagnostics]
