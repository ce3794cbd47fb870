"""The installed verl, found and read without importing it: importing verl takes seconds and needs torch."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from rewardkit.errors import MissingDependencyError
from trainer_glue.verl.versions import TESTED


@dataclass(frozen=True, slots=True)
class Verl:
    """An installed verl.

    Attributes:
        version: as its metadata says.
        folder: the package folder.
    """

    version: str
    folder: Path

    @property
    def config(self) -> Path:
        """The folder of its hydra config."""
        return self.folder / "trainer" / "config"


def find_verl() -> Verl:
    """The installed verl.

    Raises:
        MissingDependencyError: none, or a version that was not tested.
    """
    fix = f"pip install 'rewardkit-rl[verl]' (it pins verl=={TESTED[-1]})"
    spec = importlib.util.find_spec("verl")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError("verl is not installed; training needs it", hint=fix)
    try:
        version = importlib.metadata.version("verl")
    except importlib.metadata.PackageNotFoundError:
        raise MissingDependencyError(
            f"{next(iter(spec.submodule_search_locations))} is a folder named verl without a distribution's metadata",
            hint=fix,
        ) from None
    if version not in TESTED:
        raise MissingDependencyError(
            f"verl {version} is installed; tested are {', '.join(TESTED)}: other versions ask for "
            "rewards in other ways",
            hint=fix,
        )
    return Verl(version, Path(next(iter(spec.submodule_search_locations))))
