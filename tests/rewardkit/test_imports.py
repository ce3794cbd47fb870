"""What may import what: read from the imports themselves, those for type checkers and those inside functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import rewardkit
from rewardkit.algebra.registry import SOURCES

ROOT = Path(rewardkit.__file__).parent
TRAINERS = {"torch", "verl", "trl", "openrlhf", "verifiers", "ray", "transformers", "trainer_glue"}

Graph = Mapping[str, frozenset[str]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every file of the package, by the name that it is imported by."""
    files = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        files[".".join(parts[:-1] if path.name == "__init__.py" else parts)] = path
    return files


def imported(path: Path) -> Iterator[str]:
    """The names that a file imports, wherever in it: modules, and what is taken out of them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def graph(files: Mapping[str, Path]) -> Graph:
    """From each module to the modules of the package that it imports."""
    known = set(files)

    def home(name: str) -> str:
        return name if name in known else name.rpartition(".")[0]

    return {m: frozenset({home(name) for name in imported(path)} & known - {m}) for m, path in files.items()}


def circles(arrows: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """What is left when everything that imports nothing that is left is taken away, again and again."""
    left = dict(arrows)
    while free := [m for m, targets in left.items() if not targets & left.keys()]:
        for m in free:
            del left[m]
    while free := [m for m in left if not any(m in targets for targets in left.values())]:
        for m in free:
            del left[m]
    return [sorted(left)] if left else []


def test_no_file_imports_itself_by_way_of_others() -> None:
    assert circles(graph(modules())) == []


def test_a_circle_would_be_found() -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert circles({m: frozenset(targets) for m, targets in arrows.items()}) == [["b", "c"]]


def test_no_trainer_is_imported() -> None:
    trainers = {(m, name) for m, path in modules().items() for name in imported(path) if name.split(".")[0] in TRAINERS}
    assert trainers == set()


def test_what_is_imported_by_name_alone_is_the_vocabulary() -> None:
    """The registry loads the packages that fill it without importing what stands above it."""
    assert SOURCES == ("rewardkit.algebra.operations", "rewardkit.terms")


@pytest.mark.parametrize("source", SOURCES)
def test_those_packages_stand_above_the_registry(source: str) -> None:
    files = modules()
    reached, todo = set(), [source]
    arrows = graph(files)
    while todo:
        m = todo.pop()
        if m not in reached:
            reached.add(m)
            todo.extend(arrows[m])
    assert "rewardkit.algebra.registry" in reached


FLOORS = (
    {"plain data"},
    {"algebra", "processes", "programs"},
    {"engine"},
    {"answers", "programs"},
    {"unit_tests"},
    {"terms"},
    {"scoring"},
    {"data"},
    {"analysis"},
    {"audit", "laws", "report"},
    {"comparison"},
    {"cli"},
)
"""From plain data up to the command line. A package imports what stands below it."""


PACKAGE_OF = {
    **dict.fromkeys(("batch", "diagnostics", "errors", "patterns", "turns", "version"), "plain data"),
    "__main__": "cli",
}
"""The files that lie beside the packages."""


def package(module: str) -> str:
    part = module.split(".")[1]
    return PACKAGE_OF.get(part, part)


def test_every_arrow_between_packages_points_down(capsys: pytest.CaptureFixture[str]) -> None:
    floor = {name: i for i, names in enumerate(FLOORS) for name in names}
    arrows: dict[str, set[str]] = {}
    for module, targets in graph(modules()).items():
        if module != "rewardkit":  # the public names
            arrows.setdefault(package(module), set()).update(package(t) for t in targets if t != "rewardkit")
    for name in sorted(arrows, key=lambda name: floor[name]):
        print(f"{name:12} imports {', '.join(sorted(arrows[name] - {name})) or '-'}")
    back = {(a, b) for a, targets in arrows.items() for b in targets if a != b and floor[b] >= floor[a]}
    assert back == set(), capsys.readouterr().out
