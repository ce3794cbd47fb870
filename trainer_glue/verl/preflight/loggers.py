"""`trainer.logger`: names that verl knows, with their packages. verl makes its loggers after the workers are up."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import Subject

PACKAGES: Final[Mapping[str, str | None]] = {
    "console": None,
    "file": None,
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "swanlab": "swanlab",
    "clearml": "clearml",
    "trackio": "trackio",
    "vemlp_wandb": "volcengine-ml-platform",
    "rl_insight": None,
}
"""verl's loggers (verl/utils/tracking.py, `supported_backend`) and the distribution that each imports."""
_KEY: Final = "trainer.logger"


def check_loggers(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Names that verl refuses, packages that are missing, and a W&B that would ask for a key."""
    value = subject.get(_KEY)
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    for name in names:
        if name not in PACKAGES:
            close = difflib.get_close_matches(str(name), PACKAGES, n=1)
            fix = f"did you mean {close[0]}?" if close else f"one of {', '.join(PACKAGES)}"
            yield subject.diagnostic("RKD108", _KEY, f"has {name!r}, which verl does not know", fix)
        elif (package := PACKAGES[name]) is not None and subject.machine.version(package) is None:
            fix = f"pip install {package}"
            yield subject.diagnostic("RKD110", _KEY, f"has {name}, and {package} is not installed", fix)
    if "wandb" in names and not _has_key(subject.machine.environment):
        message = "has wandb, and no key is set: a run without a terminal would stop at the question for one"
        fix = "wandb login, or WANDB_API_KEY=...; WANDB_MODE=offline logs to files"
        yield subject.diagnostic("RKD109", _KEY, message, fix)


def _has_key(environment: Mapping[str, str]) -> bool:
    if environment.get("WANDB_API_KEY") or environment.get("WANDB_MODE", "online") in ("offline", "disabled", "dryrun"):
        return True
    netrc = Path(environment.get("NETRC") or "~/.netrc").expanduser()
    return netrc.is_file() and "wandb" in netrc.read_text(encoding="utf-8", errors="replace")
