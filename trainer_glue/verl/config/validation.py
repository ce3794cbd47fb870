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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import ConfigError
from rewardkit.processes.isolated import PYTHON, isolated_environment
from trainer_glue.verl.config.draft import Draft
from trainer_glue.verl.config.findings import ConfigFindings, Finding
from trainer_glue.verl.config.keys import Where
from trainer_glue.verl.config.resolve import resolve
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
        findings: errors first, then warnings, each in the order of the checks.
        config: the whole config, without keys that were refused; None when it could not be composed.
        asked_verl: whether verl's own checks ran.
    """

    findings: tuple[Finding, ...]
    config: Mapping[str, Any] | None
    asked_verl: bool

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What would stop a run."""
        return tuple(f for f in self.findings if f.severity == "error")

    def as_dicts(self) -> list[dict[str, Any]]:
        """The findings as plain data, with the value that the config has."""
        return [
            {
                "severity": f.severity,
                "code": f.code,
                "key": f.key,
                "file": f.file,
                "line": f.line,
                "where": f.where,
                "value": f.value if f.value is not None else dig(self.config, f.key) if f.key else None,
                "expected": f.expected,
                "message": f.message,
                "hint": f.hint,
            }
            for f in self.findings
        ]


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
    drafts: list[Draft] = []

    def keep(draft: Draft) -> list[Finding]:
        drafts.append(draft)
        return []

    with _verl_waiting(ask_verl) as verl:
        try:
            resolved = resolve(source, overrides, reward=reward, accelerator=True, dry_run=True, check=keep)
            errors, warnings = _sorted(resolved.findings, need_data)
        except ConfigFindings as e:
            later = [dataclasses.replace(f, severity="warning") for f in e.findings if (f.code, f.key) in _LATER]
            missing, warnings = _sorted((*later, *e.warnings), need_data)
            errors = [*(f for f in e.findings if (f.code, f.key) not in _LATER), *missing]
        draft = drafts[0] if drafts else None
        if verl is None or draft is None:
            return Validation((*errors, *warnings), draft.config if draft else None, False)
        theirs = _answers(verl, draft.config, draft.where)
    theirs = [f for f in theirs if not _is_said(f.key, errors)]
    errors += [f for f in theirs if f.severity == "error"]
    warnings += [f for f in theirs if f.severity == "warning"]
    return Validation((*errors, *warnings), draft.config, True)


def _sorted(warnings: Sequence[Finding], need_data: bool) -> tuple[list[Finding], list[Finding]]:
    """Errors and warnings: where the data is needed, a file of it that is not there is an error."""
    missing = [dataclasses.replace(f, severity="error") for f in warnings if need_data and f.code == "missing-file"]
    return missing, [f for f in warnings if not (need_data and f.code == "missing-file")]


def _is_said(key: str, errors: Sequence[Finding]) -> bool:
    """Whether there is an error already about a key, its twin for one GPU, or a key below the section that it is."""
    known = [f.key.removesuffix("_per_gpu") for f in errors]
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


def _answers(verl: subprocess.Popen[str], config: Mapping[str, Any], where: Where) -> list[Finding]:
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
        Finding("verl", f["key"], f"verl says: {f['message']}", where(f["key"]), severity=f["severity"])
        for f in json.loads(answer)
    ]
