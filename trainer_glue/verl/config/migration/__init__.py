"""`rewardkit config migrate`: a config file or launch script of verl 0.2 to 0.9.0, as a file for 0.9.1, key by key.

`mend` makes YAML of what isn't, `edits` changes a file key by key, `rules` say what becomes of each key (by the table
of `versions.keys`), `reward` looks for what paid the run. The user's comments and order survive.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rewardkit.errors import ConfigError
from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.config.diagnostics import ConfigErrors
from trainer_glue.verl.config.mend import mend
from trainer_glue.verl.config.migration.edits import Edits
from trainer_glue.verl.config.migration.report import Change, Report
from trainer_glue.verl.config.migration.rules import Migration
from trainer_glue.verl.config.migration.script import read_script
from trainer_glue.verl.config.other_trainers import not_verls
from trainer_glue.verl.config.written import dig
from trainer_glue.verl.config.yaml_file import is_script, parse_yaml
from trainer_glue.verl.versions.installed import find_verl

__all__ = ["Change", "Report", "migrate"]


def migrate(path: Path) -> Report:
    """Rewrite a config file. Nothing is written.

    Raises:
        ConfigErrors: the file is not YAML, is another trainer's, or says a thing twice.
        ConfigError: the file can't be read, is empty, or is written in a form that can't be edited.
        MissingDependencyError: verl is not installed.
    """
    verl = find_verl()
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"no file {path}", hint="a config file for verl 0.2 to 0.9") from None
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"{path} can't be read: {e}") from None
    script = read_script(text, path, verl.config) if is_script(text) else None
    if script is not None:
        text = script.text
    file, mended = parse_yaml(text, path), None
    if any(f.code == "yaml-syntax" for f in file.diagnostics):
        text, mended = mend(text)
        file = parse_yaml(text, path)
    if file.diagnostics:
        raise ConfigErrors(file.diagnostics)
    if not file.data:
        raise ConfigError(f"{path} says nothing", hint="expected keys of verl's config, such as `data:`")
    megatron = dig(file.data, "actor_rollout_ref.actor.strategy") == "megatron"
    groups = ("model_engine=megatron",) if megatron else ()
    defaults, schema = composed(verl, groups)
    if (foreign := not_verls(file, schema)) is not None:
        raise ConfigErrors([foreign])
    edits = Edits(text)
    changes = Migration(edits, schema, defaults).apply()
    if mended is not None:
        why = "a word alone can't have a key beside it; it was read as the manager's name"
        changes.insert(0, Change("mended", "reward_manager", mended, why))
    notes = [f"a run of this file has to be given {group}" for group in groups]
    if script is not None:
        changes = [replace(c, line=script.lines.get(c.key)) for c in changes]
        notes = [*script.notes, *notes]
    return Report(edits.text(), tuple(changes), tuple(notes), groups)
