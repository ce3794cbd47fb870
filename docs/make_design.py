"""Write the table of imports into docs/design.md: `python docs/make_design.py`. A test fails when it is stale."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_name("design.md")
BEGIN, END = "<!-- imports -->\n", "<!-- end -->\n"
OURS = ("rewardkit", "trainer_glue")
Imports = dict[str, tuple[set[str], set[str]]]


def page() -> str:
    """The page with today's table."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def table() -> str:
    """A line for each package."""
    lines = ["| package | imports | later |", "|---|---|---|"]
    for package, (at_once, later) in imports().items():
        lines.append(f"| `{package}` | {_names(at_once)} | {_names(later - at_once)} |")
    return "\n" + "\n".join(lines) + "\n\n"


def _names(modules: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(modules, key=str.lower)) or "-"


def imports() -> Imports:
    """For each package, what its modules import at once, and what later; our own packages by name only."""
    imported: Imports = defaultdict(lambda: (set(), set()))
    for package in OURS:
        for path in sorted((ROOT / package).rglob("*.py")):
            owner = _package(path)
            for name, is_later in _imported(ast.parse(path.read_text(encoding="utf-8"))):
                if name != package:
                    imported[owner][is_later].add(name)
    return {owner: imported[owner] for owner in sorted(imported)}


def _package(path: Path) -> str:
    inside = path.relative_to(ROOT).parts[:-1]
    depth = 2 if inside[0] == "rewardkit" or inside[1:2] != ("verl",) else 3
    return ".".join(inside[:depth])


def _imported(tree: ast.AST, *, later: bool = False) -> Iterator[tuple[str, bool]]:
    """The packages outside the standard library that a module imports, and whether only when a function runs.

    What only a type checker imports, and what is imported relatively, is left out.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            yield from _imported(ast.Module(node.orelse, []), later=later)
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        for name in names:
            first = name.partition(".")[0]
            if first not in sys.stdlib_module_names:
                yield first, later
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imported(node, later=later or inside)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
