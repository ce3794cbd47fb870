"""A user's YAML file as plain data, with the line of every key.

Numbers are read as verl's own loader reads them: `1e-6` is a number, though YAML 1.1 calls it text. A key that is
written twice is an error, not the last one wins.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.mend import mend

_FLOAT: Final = re.compile(
    r"""^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?(?:[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)
    |\.[0-9_]+(?:[eE][-+][0-9]+)?
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))$""",
    re.VERBOSE,
)


MAIN: Final = re.compile(r"\bmain_(?:ppo|dapo|prime|spin|sppo)\w*(?=\s|\Z)")
"""What a launch script starts."""


class Loader(yaml.SafeLoader):
    """PyYAML's safe loader with YAML 1.2's floats and without dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own class attribute
        first: [(tag, pattern) for tag, pattern in pairs if not tag.endswith(("float", "timestamp"))]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


@dataclass(frozen=True)
class YamlFile:
    """A parsed file.

    Attributes:
        path: the file.
        data: its content; empty when it can't be read.
        lines: the line of each dotted key.
        diagnostics: what is wrong with the file itself.
    """

    path: Path
    data: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    diagnostics: tuple[ConfigDiagnostic, ...] = ()

    def where(self, key: str) -> str:
        """`FILE:LINE` of a key of the file."""
        return f"{self.path}:{self.lines[key]}"


def read_yaml(path: Path) -> YamlFile:
    """Read a file; what is wrong with it is in the diagnostics, never raised."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        return YamlFile(path, diagnostics=(ConfigDiagnostic("unreadable-file", f"can't be read: {e}", str(path)),))
    return parse_yaml(text, path)


def is_script(text: str) -> bool:
    """Whether a text starts verl with arguments, as a shell script does."""
    return any(MAIN.search(line) and not line.lstrip().startswith("#") for line in text.splitlines())


def parse_yaml(text: str, path: Path) -> YamlFile:
    """The same for the text of a file."""
    if is_script(text):
        of_script = f"rewardkit config migrate {path} --out NEW.yaml makes a config of its KEY=VALUE arguments"
        return YamlFile(path, diagnostics=(ConfigDiagnostic("not-verl", "is a launch script", str(path), of_script),))
    try:
        loader = Loader(text)
        root = loader.get_single_node()
    except yaml.YAMLError as e:
        fault = _syntax(path, e)
        hint = f"rewardkit config migrate {path} --out NEW.yaml mends its reward_manager" if mend(text)[1] else None
        return YamlFile(path, diagnostics=(replace(fault, hint=hint),))
    if root is None:
        return YamlFile(path)
    if not isinstance(root, yaml.MappingNode):
        message = (
            f"is a YAML {type(root).__name__.removesuffix('Node').lower()}; expected keys and values, such as `data:`"
        )
        return YamlFile(path, diagnostics=(ConfigDiagnostic("not-a-mapping", message, str(path)),))
    lines: dict[str, int] = {}
    diagnostics: list[ConfigDiagnostic] = []
    _collect(root, "", path, lines, diagnostics)
    try:
        data = loader.construct_document(root)
    except yaml.YAMLError as e:
        return YamlFile(path, diagnostics=(*diagnostics, _syntax(path, e)))
    return YamlFile(path, data, lines, tuple(diagnostics))


def key_lines(text: str) -> dict[str, int]:
    """The line of each dotted key of a text that can be read, in its order."""
    lines: dict[str, int] = {}
    root = Loader(text).get_single_node()
    if isinstance(root, yaml.MappingNode):
        _collect(root, "", Path(), lines, [])
    return lines


def _collect(
    node: yaml.MappingNode, prefix: str, path: Path, lines: dict[str, int], diagnostics: list[ConfigDiagnostic]
) -> None:
    here: dict[Hashable, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        name = f"{prefix}{key.value}" if isinstance(key.value, str) else prefix.rstrip(".")
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            message = f"a key of this section is {key.value!r}; expected a name"
            diagnostics.append(ConfigDiagnostic("bad-key", message, f"{path}:{line}", key=prefix.rstrip(".")))
            continue
        if key.value in here:
            message = f"is written twice, first on line {here[key.value]}"
            diagnostics.append(
                ConfigDiagnostic("duplicate-key", message, f"{path}:{line}", "keep one of the two", key=name)
            )
        here[key.value] = line
        lines[name] = line
        if isinstance(value, yaml.MappingNode):
            _collect(value, f"{name}.", path, lines, diagnostics)


def _syntax(path: Path, error: yaml.YAMLError) -> ConfigDiagnostic:
    mark = getattr(error, "problem_mark", None)
    where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
    problem = getattr(error, "problem", None) or str(error)
    return ConfigDiagnostic("yaml-syntax", f"not valid YAML: {problem}", where)
