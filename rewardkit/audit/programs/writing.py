"""Programs for a row: one that passes its tests, and ones of which it is known that they don't solve its task.

A program that only looks up what its tests expect passes them, and so it stands for a right one where the row has no
reference solution. All programs are of one indent, without texts over several lines: some rewards indent them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rewardkit.audit.programs.interface import Case, Interface

LONGEST_TABLE: Final = 200_000
"""Characters of the cases in a program."""


def body(interface: Interface, does: str, *, before: str = "") -> str:
    """A program whose function does something, or that does it when it runs.

    Args:
        interface: what the tests call.
        does: statements, or `return ...`, with the arguments in `args`; of a program that prints, `return X` becomes
            `print(X)`.
        before: statements at its top.
    """
    top = f"{before}\n" if before else ""
    lines = does.split("\n")
    if interface.entry is None:
        lines = [_printing(line) for line in lines]
        return f"import sys\n{top}args = [sys.stdin.read()]\n" + "\n".join(lines) + "\n"
    return f"{top}def {interface.entry}(*args, **kwargs):\n" + "".join(f"    {line}\n" for line in lines)


def _printing(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    rest = line.lstrip()
    if rest == "return" or rest.startswith("return None"):
        return f"{indent}pass"
    return f"{indent}print({rest.removeprefix('return ')})" if rest.startswith("return ") else line


def looks_up(
    interface: Interface, cases: Sequence[Case], *, does: str = "return known", otherwise: str = "None"
) -> str:
    """A program that knows what some cases expect.

    Args:
        interface: what the tests call.
        cases: what it knows.
        does: what it does with it.
        otherwise: what it takes for known where it knows nothing.
    """
    if interface.entry is None:
        table: dict[Any, Any] = {case.given.strip(): case.expected for case in cases}
        before, key = f"table = {table!r}", "args[0].strip()"
        does = does.replace("return known", "sys.stdout.write(str(known))")
    else:
        table = {repr(case.given): case.expected for case in cases}
        before, key = f"table = {table!r}", "repr(args)"
    return body(interface, f"known = table.get({key}, {otherwise})\n{does}", before=before)


def right(interface: Interface) -> str | None:
    """A program that knows all cases; None where there are none, or where it would be very long."""
    if not interface.cases:
        return None
    program = looks_up(interface, interface.cases)
    return program if len(program) <= LONGEST_TABLE else None


def wrong(interface: Interface) -> tuple[str, ...]:
    """Programs that don't solve the task, the plainest first."""
    return (
        body(interface, "return 'heliotrope'"),
        body(interface, "return 'the opposite'"),
        body(interface, "raise NotImplementedError"),
    )
