"""The public API as mypy and pyright see it: `python tests/typing/check.py`; `make check` runs it.

algebra.py says which lines are right and which are wrong; both type checkers must agree with it line by line.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALGEBRA = Path(__file__).with_name("algebra.py")
CHECKERS = {
    "mypy": (["--strict", "--no-error-summary", "--hide-error-context"], r"algebra\.py:(\d+): error"),
    "pyright": (["--pythonpath", sys.executable], r"algebra\.py:(\d+):\d+ - error"),
}
"""Each checker's options, and how it says that a line is wrong."""


def output(checker: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", checker, *arguments], capture_output=True, text=True, cwd=ROOT)
    return done.stdout + done.stderr


def disagreement(checker: str) -> str | None:
    """What a checker says otherwise than algebra.py; None where they agree."""
    options, pattern = CHECKERS[checker]
    text = output(checker, *options, str(ALGEBRA))
    refused = {int(line) for line in re.findall(pattern, text)}
    expected = {i for i, line in enumerate(ALGEBRA.read_text().splitlines(), 1) if "# wrong" in line}
    if refused == expected:
        return None
    return f"{checker}: accepts {sorted(expected - refused)}, refuses {sorted(refused - expected)}\n{text}"


if __name__ == "__main__":
    faults = [fault for checker in CHECKERS if (fault := disagreement(checker))]
    print(*faults, sep="\n\n")
    sys.exit(bool(faults))
