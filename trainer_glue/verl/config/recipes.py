"""The recipes: YAML files of this package, each a complete run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from rewardkit.errors import ConfigError, did_you_mean

FOLDER: Final = Path(__file__).resolve().parent.parent / "recipes"
DEFAULT: Final = "tiny"
"""What `rewardkit train` runs without an argument."""
DEFAULT_FOR_MODEL: Final = "small"
"""What it runs when only a model is named: the tiny recipe's learning rate would ruin a pretrained one."""


def recipe_names() -> list[str]:
    """The recipes by name."""
    return sorted(p.stem for p in FOLDER.glob("*.yaml"))


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe.

    Attributes:
        name: its name.
        path: its file.
        summary: what it is for: the comment that the file begins with.
    """

    name: str
    path: Path
    summary: str


def recipes() -> list[Recipe]:
    """The recipes, by name."""
    return [recipe(name) for name in recipe_names()]


def recipe(name: str) -> Recipe:
    """The recipe of a name.

    Raises:
        ConfigError: there is none.
    """
    path = FOLDER / f"{name}.yaml"
    if name not in recipe_names():
        hint = did_you_mean(name, recipe_names()) or f"one of {', '.join(recipe_names())}"
        raise ConfigError(f"unknown recipe: {name!r}", hint=hint)
    head = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    return Recipe(name, path, " ".join(line.lstrip("# ").strip() for line in head))


def config_path(source: str | Path) -> tuple[Path, str | None]:
    """The file that a recipe's name or a path stands for, and the recipe's name or None.

    Raises:
        ConfigError: neither a recipe nor a file.
    """
    text = str(source)
    path = Path(text).expanduser()
    recipe = FOLDER / f"{text}.yaml"
    if not path.suffix and "/" not in text and recipe.is_file():
        return recipe, text
    if path.is_file():
        return path, None
    if path.suffix in (".yaml", ".yml") or "/" in text:
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ConfigError(
            f"the config file {path} {what}", hint=f"a YAML file, or a recipe: {', '.join(recipe_names())}"
        )
    hint = did_you_mean(text, recipe_names()) or "give a YAML file, or one of the recipes"
    raise ConfigError(f"unknown recipe or file: {text!r} (recipes: {', '.join(recipe_names())})", hint=hint)
