"""Files that a subcommand writes for the user: whole or not at all, and never over what it reads."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from rewardkit.errors import ConfigError, DataError


def check_target(target: Path | None, inputs: Iterable[Path | None], option: str = "--out") -> None:
    """See that what is written is nothing that is read, by whatever name: before anything is read or written.

    Args:
        target: the file to write; None where there is none.
        inputs: files and folders that are read, the reward's own among them; None for none.
        option: names the target in messages.

    Raises:
        DataError: the target is an input, or in a folder that is read whole, or can't be a file; or standard output
            goes to an input.
    """
    read = [path for path in inputs if path is not None]
    if target is not None:
        if target.is_dir():
            raise DataError(f"{option} {target} is a folder; expected a file")
        if not target.parent.is_dir():
            raise DataError(f"{option} {target}: no folder {target.parent}")
        clash = _same(_status(target), read)
        if clash is not None:
            raise DataError(f"{option} {target} is {clash}, which is read; expected another file")
    clash = _same(_standard_output(), read)
    if clash is not None:
        raise DataError(f"standard output goes to {clash}, which is read; expected another file")


def _same(written: os.stat_result | None, read: Iterable[Path]) -> Path | None:
    """The input that is the same file: links and other spellings of a path lead to it too."""
    if written is None or stat.S_ISCHR(written.st_mode):  # a terminal and /dev/null are read and written
        return None
    for path in read:
        for file in path.iterdir() if path.is_dir() else (path,):
            status = _status(file)
            if status is not None and os.path.samestat(status, written):
                return file
    return None


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.fstat(0) if str(path) == "-" else path.stat()
    except OSError:
        return None


def _standard_output() -> os.stat_result | None:
    try:
        status = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def write_new(path: Path, text: str, *, force: bool = False) -> None:
    """Write a file.

    Args:
        path: the file.
        text: its contents.
        force: replace one that is there.

    Raises:
        ConfigError: it is there already.
        DataError: it can't be written.
    """
    from rewardkit.scoring.writing import whole_file

    if path.is_dir():
        raise ConfigError(f"{path} is a folder; expected the name of a file")
    if os.path.lexists(path) and not force:
        raise ConfigError(f"{path} is there already", hint="give another name, or --force to replace it")
    with whole_file(path) as write:
        write(text)
