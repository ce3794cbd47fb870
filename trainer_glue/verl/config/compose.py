"""verl's own default config, composed by hydra from the installed package's folder, and its schema."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic, ConfigErrors
from trainer_glue.verl.config.overrides import COMMAND_LINE
from trainer_glue.verl.config.schema import Key, build_schema
from trainer_glue.verl.versions.installed import Verl


def composed(verl: Verl, groups: tuple[str, ...] = ()) -> tuple[dict[str, Any], Key]:
    """The default config as plain data of the caller's own, interpolations kept, and its schema.

    Args:
        verl: the installed verl.
        groups: overrides that choose config groups.

    Raises:
        ConfigErrors: there is no such group.
    """
    from hydra.errors import HydraException

    try:
        content, schema = _composed(verl.folder, verl.config, groups)
    except HydraException as e:
        raise ConfigErrors(
            [ConfigDiagnostic("config-group", str(e).splitlines()[0], COMMAND_LINE, key=" ".join(groups))]
        ) from None
    return copy.deepcopy(content), schema


@functools.lru_cache(maxsize=4)
def _composed(package: Path, folder: Path, groups: tuple[str, ...]) -> tuple[dict[str, Any], Key]:
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with initialize_config_dir(config_dir=str(folder), version_base=None):
        config = compose("ppo_trainer", overrides=list(groups))
    content: dict[str, Any] = OmegaConf.to_container(config, resolve=False)
    return content, build_schema(content, package)
