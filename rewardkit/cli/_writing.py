"""Files that a subcommand writes for the user: whole or not at all, and never over another."""

from __future__ import annotations

import os
from pathlib import Path

from rewardkit.errors import ConfigError


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Write a file.

    Args:
        path: the file.
        text: its contents.
        force: replace one that is there.

    Raises:
        ConfigError: it is there already, or can't be written.
    """
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; expected the name of a file")
    if path.exists() and not force:
        raise ConfigError(f"{path} is there already", hint="give another name, or --force to replace it")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="")
        partial.replace(path)
    except OSError as e:
        raise ConfigError(f"{path} can't be written: {e.strerror or e}") from e
    finally:
        partial.unlink(missing_ok=True)
