"""`run.json`: what was run, with what, from when to when, and how it went. Written at the start and at every end."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import rewardkit
from rewardkit.errors import ConfigError
from trainer_glue.verl.launch.folder import write_whole

State = Literal["running", "finished", "stopped", "failed"]
_PACKAGES: Final = ("verl", "torch", "ray", "transformers", "tensordict", "TransferQueue", "numpy", "vllm")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of the run.

    Attributes:
        started: UTC, ISO 8601.
        ended: the same; None while it goes on, or when it was killed with no time to write.
        state: how it ended.
        from_step: the step of the checkpoint that it began from; 0 for none.
    """

    started: str
    from_step: int
    ended: str | None = None
    state: State = "running"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A whole run, over all its starts.

    Attributes:
        state: how the latest start ended.
        formula: the reward, as text.
        fingerprint: the reward's.
        reward: the reward as the user named it.
        seed: of the data order and of what was made locally.
        ranks: processes that train.
        accelerator: False for a run on the CPU.
        versions: of Python and of the packages that matter, where installed.
        command: the user's command line.
        verl_command: what it started.
        attempts: every start.
        steps: training steps done.
        total_steps: training steps asked for; None where the number of epochs decides.
        checkpoint: the newest complete checkpoint, relative to the run's folder where below it.
        folder: the run's folder when it was written.
        config: the whole resolved config.
    """

    state: State
    formula: str
    fingerprint: str
    reward: str
    seed: int
    ranks: int
    accelerator: bool
    versions: Mapping[str, str]
    command: tuple[str, ...]
    verl_command: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    steps: int
    total_steps: int | None
    checkpoint: str | None
    folder: str
    config: Mapping[str, Any]

    def write(self, path: Path) -> None:
        """Replace the file."""
        write_whole(path, (json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n").encode())

    def closed(self, state: State, **changes: Any) -> RunRecord:
        """The record with its latest attempt ended now."""
        *earlier, latest = self.attempts
        return replace(self, state=state, attempts=(*earlier, replace(latest, ended=utc_now(), state=state)), **changes)

    @classmethod
    def read(cls, path: Path) -> RunRecord | None:
        """The record in a file, or None where there is no file.

        Raises:
            ConfigError: the file isn't a run's record.
        """
        try:
            data = json.loads(path.read_bytes())
            attempts = tuple(Attempt(**a) for a in data.pop("attempts"))
            command, verl = tuple(data.pop("command")), tuple(data.pop("verl_command"))
            return cls(**data, attempts=attempts, command=command, verl_command=verl)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise ConfigError(
                f"{path} is not a record of this version's runs ({type(e).__name__}: {e})",
                hint="give another --out, or move that folder away",
            ) from e


def versions() -> dict[str, str]:
    """Of Python, rewardkit and the installed packages that matter to a run."""
    installed = {"python": platform.python_version(), "rewardkit": rewardkit.__version__}
    for name in _PACKAGES:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def utc_now() -> str:
    """Now, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
