"""Every key of verl's config and what may stand there, read from the installed verl without importing it.

Two sources: the composed default config, and the dataclasses that its sections become (a section's `_target_`), whose
fields and annotations are read from their source text. verl ignores an unknown key of a YAML file in the sections that
become no dataclass, and fails on one in the others only when its workers start.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

ANY: Final = frozenset({"any"})

_EXTRA: Final[Mapping[str, frozenset[str]]] = {
    # read by verl with `.get(...)`, absent from its YAML
    "reward.reward_kwargs": frozenset({"dict"}),
    "reward.timeout": frozenset({"float", "none"}),
    "reward.custom_reward_function.reward_kwargs": frozenset({"dict"}),
    "algorithm.gdpo_reward_keys": frozenset({"list", "none"}),
    "data.sampler": frozenset({"dict", "none"}),
    "data.datagen": frozenset({"dict", "none"}),
}
_TYPES: Final[Mapping[str, frozenset[str]]] = {
    # the default's own type says too little
    "data.train_files": frozenset({"str", "list"}),
    "data.val_files": frozenset({"str", "list"}),
    "trainer.logger": frozenset({"str", "list"}),
    "trainer.esi_redundant_time": frozenset({"float"}),
    "trainer.total_training_steps": frozenset({"int", "none"}),
    "trainer.max_actor_ckpt_to_keep": frozenset({"int", "none"}),
    "trainer.default_local_dir": frozenset({"str"}),
    "data.seed": frozenset({"int", "none"}),
    "data.val_batch_size": frozenset({"int", "none"}),
    "data.gen_batch_size": frozenset({"int", "none"}),
    "actor_rollout_ref.ref.log_prob_micro_batch_size": frozenset({"int", "none"}),
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": frozenset({"int", "none"}),
    "trainer.v1.colocate_async.num_warmup_batches": frozenset({"float"}),
    "trainer.v1.separate_async.num_warmup_batches": frozenset({"float"}),
    "actor_rollout_ref.model.exclude_modules": frozenset({"str", "list", "none"}),
    "actor_rollout_ref.rollout.dtype": frozenset({"str"}),
}
_OPEN: Final = frozenset({"ray_kwargs.ray_init", "trainer.v1.sampler.sampler_kwargs"})
"""Sections that are handed on as keyword arguments: any key may stand below them."""


@dataclass(frozen=True)
class Key:
    """A key of the config.

    Attributes:
        types: names of the types a value may have: bool, int, float (an int will do), str, list, dict, none, any.
        children: the keys below, for a section.
        open: whether a section takes keys that are not known.
        listed: whether verl's YAML has it, not its dataclass alone.
    """

    types: frozenset[str] = ANY
    children: Mapping[str, Key] = field(default_factory=dict)
    open: bool = False
    listed: bool = True

    @property
    def is_section(self) -> bool:
        """Whether a mapping is expected here."""
        return bool(self.children) or self.open

    def find(self, path: str) -> Key | None:
        """The key at a dotted path below this one; below an open section, an open key. None when there is none."""
        key = self
        for name in path.split("."):
            child = key.children.get(name)
            if child is None:
                return Key(open=True) if key.open else None
            key = child
        return key

    def paths(self, prefix: str = "", *, listed: bool = False) -> Iterator[str]:
        """All dotted paths below, or those that verl's YAML lists."""
        for name, child in self.children.items():
            if child.listed or not listed:
                yield f"{prefix}{name}"
                yield from child.paths(f"{prefix}{name}.", listed=listed)


def build_schema(defaults: Mapping[str, Any], package: Path) -> Key:
    """The schema of a composed default config.

    Args:
        defaults: the config, interpolations unresolved.
        package: verl's package folder.
    """
    classes = _dataclasses(package)
    root = _section("", defaults, None, classes)
    for path, types in _EXTRA.items():
        _insert(root, path, Key(types, open="dict" in types))
    return root


def _section(path: str, default: Mapping[str, Any], declared: str | None, classes: _Classes) -> Key:
    target = default.get("_target_")
    name = target.rpartition(".")[2] if isinstance(target, str) else declared
    fields = classes.fields(name) if name else {}
    children: dict[str, Key] = {}
    for key in [*default, *(f for f in fields if f not in default)]:
        below = f"{path}.{key}" if path else key
        annotation = fields.get(key)
        value = default.get(key)
        if isinstance(value, Mapping):
            child = _section(below, value, classes.first_of(annotation) if annotation else None, classes)
            opened = not value or below in _OPEN or (annotation is not None and "dict" in annotation.types)
            children[key] = Key(frozenset({"dict", "none"} if opened else {"dict"}), child.children, opened)
        elif annotation is not None and key not in default and (name_below := classes.first_of(annotation)):
            children[key] = replace(_section(below, {}, name_below, classes), listed=False)
        else:
            leaf = _leaf(below, key in default, value, annotation, classes)
            children[key] = leaf if key in default else replace(leaf, listed=False)
    return Key(frozenset({"dict"}), children)


def _leaf(path: str, has_default: bool, value: object, annotation: _Annotation | None, classes: _Classes) -> Key:
    if path in _TYPES:
        return Key(_TYPES[path])
    if annotation is not None:
        types = frozenset("dict" if t in classes else t for t in annotation.types)
    elif has_default and value is not None and not _is_interpolation(value):
        types = frozenset({type(value).__name__})
    else:
        return Key(ANY)
    if has_default and value is None:
        types |= {"none"}
    return Key(types, open="dict" in types or "any" in types)


def _insert(root: Key, path: str, key: Key) -> None:
    parent, _, name = path.rpartition(".")
    section = root.find(parent) if parent else root
    if section is not None and name not in section.children and isinstance(section.children, dict):
        section.children[name] = key


def _is_interpolation(value: object) -> bool:
    return isinstance(value, str) and ("${" in value or value == "???")


@dataclass(frozen=True)
class _Annotation:
    types: frozenset[str]


class _Classes:
    """The dataclasses of some source files, by simple name, with the fields they inherit."""

    def __init__(self, nodes: Mapping[str, ast.ClassDef]) -> None:
        self._nodes = nodes

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def first_of(self, annotation: _Annotation) -> str | None:
        """The dataclass that an annotation names, if any."""
        return next((t for t in sorted(annotation.types) if t in self._nodes), None)

    def fields(self, name: str) -> dict[str, _Annotation]:
        """The fields of a class that a config may set; empty for an unknown class."""
        node = self._nodes.get(name)
        if node is None:
            return {}
        fields: dict[str, _Annotation] = {}
        for base in reversed(node.bases):
            if isinstance(base, ast.Name):
                fields.update(self.fields(base.id))
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and _is_init(item):
                fields[item.target.id] = _Annotation(_types(item.annotation))
        return fields


def _is_init(item: ast.AnnAssign) -> bool:
    """False for `field(init=False)`: not a key that a config may set."""
    call = item.value
    return not (
        isinstance(call, ast.Call)
        and any(k.arg == "init" and isinstance(k.value, ast.Constant) and k.value.value is False for k in call.keywords)
    )


@functools.cache
def _dataclasses(package: Path) -> _Classes:
    nodes: dict[str, ast.ClassDef] = {}
    folders = ("workers/config", "trainer/config", "utils/profiler")
    files = [f for folder in folders for f in sorted((package / folder).glob("*.py"))]
    for file in [package / "base_config.py", *files]:
        for node in ast.parse(file.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                nodes.setdefault(node.name, node)
    return _Classes(nodes)


def _types(node: ast.expr) -> frozenset[str]:
    """The type names of an annotation; what isn't understood is `any`."""
    match node:
        case ast.Constant(value=None):
            return frozenset({"none"})
        case ast.Constant(value=str(text)):
            return _types(ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _types(left) | _types(right)
        case ast.Name(id=name):
            return _named(name)
        case ast.Attribute(attr=name):
            return _named(name)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return _types(inner) | {"none"}
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=inner)):
            return frozenset().union(*map(_types, inner))
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            values = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return frozenset(
                "none" if v.value is None else type(v.value).__name__ for v in values if isinstance(v, ast.Constant)
            )
        case ast.Subscript(value=ast.Name(id=name)):
            return _named(name)
        case _:
            return ANY


def _named(name: str) -> frozenset[str]:
    known = {"List": "list", "tuple": "list", "Tuple": "list", "Sequence": "list", "Dict": "dict", "Mapping": "dict"}
    plain = known.get(name, name)
    if plain in {"bool", "int", "float", "str", "list", "dict"} or (plain[:1].isupper() and plain.endswith("Config")):
        return frozenset({plain})
    return ANY
