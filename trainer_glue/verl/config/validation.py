"""`rewardkit config validate`: a config checked as a whole, first by what is known here, then by verl itself.

Neither part needs a GPU, the model or the data; what this machine lacks is a warning. The first part composes verl's
config without importing verl. The second is a process of its own: importing verl takes seconds, and what it prints and
changes at import stays out of this one.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.diagnostics import Severity, errors, ordered
from rewardkit.errors import ConfigError
from rewardkit.processes.isolated import PYTHON, isolated_environment
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic, ConfigErrors
from trainer_glue.verl.config.keys import Where
from trainer_glue.verl.config.resolve import resolve
from trainer_glue.verl.config.resolved_config import ResolvedConfig
from trainer_glue.verl.config.written import SECTION, dig

TIMEOUT: Final = 120.0
"""Seconds for verl's own checks. They take 4 to 8; a slow disk may need more for the first import."""
_LATER: Final = frozenset(
    {
        ("no-reward", f"{SECTION}.reward"),
        ("required", "data.train_files"),
        ("required", "data.val_files"),
        ("required", "actor_rollout_ref.model.path"),
    }
)
"""Errors for a run that are none for a config: what `rewardkit train` may be given on the command line."""


@dataclass(frozen=True)
class Validation:
    """What was found.

    Attributes:
        diagnostics: errors first, then warnings, each in the order of their places.
        config: the whole config, without keys that were refused; None when it could not be composed.
        asked_verl: whether verl's own checks ran.
    """

    diagnostics: tuple[ConfigDiagnostic, ...]
    config: Mapping[str, Any] | None
    asked_verl: bool

    @property
    def errors(self) -> tuple[ConfigDiagnostic, ...]:
        """What would stop a run."""
        return errors(self.diagnostics)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The diagnostics as plain data, with the value that the config has."""
        return as_dicts(self.diagnostics, self.config)


def as_dicts(diagnostics: Iterable[ConfigDiagnostic], config: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Diagnostics as plain data, with the value that the config has."""
    return [d.as_dict() | ({"value": dig(config, d.key)} if d.value is None and d.key else {}) for d in diagnostics]


def validate(
    source: str | Path | None,
    overrides: Sequence[str] = (),
    *,
    reward: str | None = None,
    ask_verl: bool = True,
    need_data: bool = False,
) -> Validation:
    """Check a config.

    Args:
        source: a recipe's name or a YAML file; None for the default, as in `rewardkit train`.
        overrides: `key=value`, as hydra reads them.
        reward: what pays the run, over the config's own.
        ask_verl: run verl's own checks too.
        need_data: a data file that is not on this machine is an error, not a warning.
    """
    kept: list[ResolvedConfig] = []

    def keep(resolved: ResolvedConfig) -> list[ConfigDiagnostic]:
        kept.append(resolved)
        return []

    with _verl_waiting(ask_verl) as verl:
        try:
            found = resolve(source, overrides, reward=reward, accelerator=True, dry_run=True, check=keep).diagnostics
        except ConfigErrors as e:
            found = (*e.errors, *e.warnings)
        found = tuple(_judged(d, need_data) for d in found)
        resolved = kept[0] if kept else None
        if verl is None or resolved is None:
            return Validation(ordered(found), resolved.config if resolved else None, False)
        theirs = _answers(verl, resolved.config, resolved.where)
    news = [d for d in theirs if not _is_said(d.key, errors(found))]
    return Validation(ordered((*found, *news)), resolved.config, True)


def _judged(d: ConfigDiagnostic, need_data: bool) -> ConfigDiagnostic:
    """What a run misses is not an error of its config. Where the data is needed, a file that is not there is one."""
    if d.severity is Severity.ERROR and (d.code, d.key) in _LATER:
        return dataclasses.replace(d, severity=Severity.WARNING)
    return dataclasses.replace(d, severity=Severity.ERROR) if need_data and d.code == "missing-file" else d


def _is_said(key: str, wrong: Sequence[ConfigDiagnostic]) -> bool:
    """Whether there is an error already about a key, its twin for one GPU, or a key below the section that it is."""
    known = [f.key.removesuffix("_per_gpu") for f in wrong]
    return key != "" and any(f"{k}.".startswith(f"{key.removesuffix('_per_gpu')}.") for k in known)


@contextmanager
def _verl_waiting(wanted: bool) -> Iterator[subprocess.Popen[str] | None]:
    """A process that imports verl, at once, and then waits for a config."""
    if not wanted or importlib.util.find_spec("verl") is None:
        yield None
        return
    with subprocess.Popen(
        [*PYTHON, "-m", "trainer_glue.verl.config.ask_verl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=isolated_environment(),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _answers(verl: subprocess.Popen[str], config: Mapping[str, Any], where: Where) -> list[ConfigDiagnostic]:
    """What verl's dataclasses and its `validate_config` say.

    Raises:
        ConfigError: they could not be run.
    """
    try:
        answer, printed = verl.communicate(json.dumps(config), timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise ConfigError(f"verl's own checks took over {TIMEOUT:.0f} s", hint="leave them out: --no-verl") from None
    if verl.returncode != 0:
        last = (printed.strip().splitlines() or ["no message"])[-1]
        raise ConfigError(f"verl's own checks could not be run: {last}", hint="leave them out: --no-verl")
    return [
        ConfigDiagnostic(
            "verl", f"verl says: {f['message']}", where(f["key"]), severity=Severity(f["severity"]), key=f["key"]
        )
        for f in json.loads(answer)
    ]
