"""A result appears whole or not at all.

Everything is written into a hidden folder beside the target and renamed at the end, after every byte is on the disk.
The folder is locked while its writer lives; the kernel drops the lock when that process dies in any way, so the next
conversion to the same target knows what a killed one has left behind and removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rewardkit.errors import CheckpointError, no_room


@contextmanager
def staged(out: Path, *, need_bytes: int) -> Iterator[Path]:
    """A folder that becomes ``out`` when the block ends without an error, and vanishes when it doesn't.

    Args:
        out: The target: absent, or an empty folder.
        need_bytes: Room that the result needs, checked before anything is written.

    Raises:
        CheckpointError: The target is taken, or there is no room for the result.
    """
    out = out.resolve()
    check_free(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(out)
        free = shutil.disk_usage(out.parent).free
        if free < need_bytes:
            raise CheckpointError(
                f"{out} needs {need_bytes / 1e9:.2f} GB and its disk has {free / 1e9:.2f} GB left",
                hint="free some room, choose a folder on another disk, or --dtype bf16 for half the size of fp32",
            )
        folder = Path(tempfile.mkdtemp(prefix=_prefix(out), dir=out.parent))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
            _make_lasting(folder)
            check_free(out)
            folder.rename(out)
            _sync_folder(out.parent)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            os.close(lock)
    except OSError as error:
        reason = no_room(error)
        if reason is None:
            raise CheckpointError(f"{out} can't be written: {error}") from error
        raise CheckpointError(
            f"{out} can't be written: {reason} ({error.strerror}). Nothing was left behind",
            hint="free some room, choose a folder on another disk, or --dtype bf16 for half the size of fp32",
        ) from error


def check_free(out: Path) -> None:
    """Raise where the target exists and is more than an empty folder.

    Raises:
        CheckpointError: It is. An old result is never mixed with a new one, nor replaced.
    """
    if out.is_dir() and not any(out.iterdir()):
        return
    if out.exists() or out.is_symlink():
        raise CheckpointError(
            f"{out} is there already; expected a new or empty folder",
            hint="choose another folder, or remove this one first",
        )


def _prefix(out: Path) -> str:
    return f".{out.name}.partial-"


def _remove_leftovers(out: Path) -> None:
    for folder in out.parent.glob(_prefix(out).replace("[", "[[]") + "*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # not a folder of ours, or another conversion has just removed it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass  # its writer is alive
        finally:
            os.close(lock)


def _make_lasting(folder: Path) -> None:
    """Flush every file and folder, and give the usual permissions: a temporary folder is its owner's alone."""
    umask = os.umask(0)
    os.umask(umask)
    folder.chmod(0o777 & ~umask)
    for path, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(os.path.join(path, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        _sync_folder(Path(path))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
