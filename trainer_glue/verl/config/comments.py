"""What verl's own files say of a key: the comment above it in the YAML that its default comes from."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from trainer_glue.verl.versions.installed import Verl

_RULER: Final = re.compile(r"^#\s*(?P<text>.*)$")


def verl_comments(verl: Verl, groups: tuple[str, ...] = ()) -> Mapping[str, str]:
    """Comments by dotted key, of the files that the default config is composed of.

    Args:
        verl: the installed verl.
        groups: overrides that choose config groups.
    """
    return _comments(verl.config, groups)


@functools.lru_cache(maxsize=2)
def _comments(folder: Path, groups: tuple[str, ...]) -> Mapping[str, str]:
    comments: dict[str, str] = {}
    for file, package in _files(folder, groups):
        path = folder / f"{file}.yaml"
        if path.is_file():
            comments.update(_of_file(path, package))
    return comments


def _files(folder: Path, groups: tuple[str, ...]) -> list[tuple[str, str]]:
    """The composed files in their order, each with the section that it fills."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    with initialize_config_dir(config_dir=str(folder), version_base=None):
        loader = GlobalHydra.instance().config_loader()
        tree = loader.compute_defaults_list("ppo_trainer", list(groups), RunMode.RUN)
    return [(d.config_path, d.package or "") for d in tree.defaults if not d.config_path.startswith("hydra")]


def _of_file(path: Path, package: str) -> Iterator[tuple[str, str]]:
    text = path.read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if isinstance(root, yaml.MappingNode):
        prefix = "" if package in ("", "_global_") else f"{package}."
        yield from _of_section(root, prefix, text.splitlines())


def _of_section(node: yaml.MappingNode, prefix: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        above = _above(lines, key.start_mark.line)
        if above and path != "defaults":
            yield path, above
        if isinstance(value, yaml.MappingNode):
            yield from _of_section(value, f"{path}.", lines)


def _above(lines: list[str], number: int) -> str:
    """The comment lines that end right above a line, as one text."""
    lines_above: list[str] = []
    while number > 0 and (match := _RULER.match(lines[number - 1].strip())):
        lines_above.insert(0, match["text"].lstrip("# ").strip())
        number -= 1
    return " ".join(part for part in lines_above if part)
