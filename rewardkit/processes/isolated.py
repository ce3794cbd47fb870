"""How another Python is started: it imports what this process has installed, and nothing from the working folder.

Python puts the working folder, or the script's, before the standard library. A file ``types.py`` or ``json.py`` there
is harmless to a process that has those modules already, and is executed by one that starts.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from typing import Final

PYTHON: Final = (sys.executable, "-P")
"""The command of a Python that does not put the working folder on its path."""


def import_path() -> list[str]:
    """``sys.path`` without the working folder and the main script's; the folder that holds rewardkit comes last.

    A checkout is often the working folder itself. As the last entry it shadows nothing.
    """
    left_out = _script_folders() - _installed()
    paths = [path for path in sys.path if path and _real(path) not in left_out]
    return list(dict.fromkeys([*(os.path.abspath(path) for path in paths), _root()]))


def isolated_environment() -> dict[str, str]:
    """This process's environment, whose PYTHONPATH has no entry that stands for the working folder by being empty.

    Where rewardkit is not installed but run from its folder, that folder is the first entry.
    """
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if os.path.realpath(_root()) not in _installed():
        entries = [_root(), *(entry for entry in entries if entry != _root())]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**environment, "PYTHONPATH": os.pathsep.join(entries)} if entries else environment


def _root() -> str:
    """The folder that holds the package."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _script_folders() -> set[str]:
    folders = {_real(os.curdir)}
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if script:
        folders.add(os.path.dirname(_real(script)))
    return folders


def _installed() -> set[str]:
    """Where packages are installed: never left out, whatever lies there."""
    paths = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    return {_real(path) for path in paths}


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:  # the working folder is gone
        return path
