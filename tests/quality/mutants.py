"""Plants faults in the engine, one at a time, and shows that its tests fail for each.

    python tests/quality/mutants.py                  # all of them, two at a time; half an hour on two cores
    python tests/quality/mutants.py --only kleene    # those whose description holds this text

Each fault is one line of mutants.jsonl: one edit of a copy of the package. The suite runs on the copy as it is, until
its first failure; a fault that it does not notice is a survivor, and makes this script fail. Not collected by pytest.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = [
    f"tests/rewardkit/{name}.py" for name in ("terms/test_terms", "engine/test_user_terms", "engine/test_program_laws")
]
NO_SHRINKING = """
from hypothesis import Phase
settings.register_profile("mutants", settings.get_profile("all"), phases=[Phase.explicit, Phase.generate])
"""
"""The suite's own examples; a failure is one, however large."""
AT_ONCE = 2
TIMEOUT_S = 1200


@dataclass(frozen=True)
class Mutant:
    what: str
    file: str
    old: str
    new: str


MUTANTS = [Mutant(**json.loads(line)) for line in Path(__file__).with_suffix(".jsonl").read_text().splitlines()]


def plant(folder: Path, mutant: Mutant | None) -> None:
    """A copy of the package and its tests, with the fault in it."""
    for name in ("rewardkit", "tests", "rewards"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    with (folder / "tests" / "conftest.py").open("a") as conftest:
        conftest.write(NO_SHRINKING)
    if mutant is None:
        return
    path = folder / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.what}: the text to replace stands {text.count(mutant.old)} times in {mutant.file}")
    path.write_text(text.replace(mutant.old, mutant.new))


def outcome(folder: Path) -> tuple[str | None, float]:
    """The first test that failed, None when all passed; and how long it took."""
    start = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
    command += SUITE
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    seconds = time.monotonic() - start
    if done.returncode == 0:
        return None, seconds
    failed = re.search(r"^(?:FAILED|ERROR) \S*?(\w+\.py(?:::\w+)?)", done.stdout, re.MULTILINE)
    if done.returncode != 1 or failed is None:
        return f"the suite does not run: {done.stdout[-400:]}{done.stderr[-400:]}", seconds
    return failed[1], seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], help="mutants whose description holds one of these texts")
    wanted = [text.lower() for text in parser.parse_args().only]
    chosen = [m for m in MUTANTS if any(text in m.what.lower() for text in wanted)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        folders = [Path(scratch, str(i)) for i in range(len(chosen) + 1)]
        for folder, mutant in zip(folders, [None, *chosen], strict=True):  # all copied at once: the tree may change
            folder.mkdir()
            plant(folder, mutant)
        clean, seconds = outcome(folders[0])
        print(f"without a fault: {clean or 'passes'} ({seconds:.0f} s)", flush=True)
        if clean is not None:
            return 2
        survivors = []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for mutant, (test, seconds) in zip(chosen, pool.map(outcome, folders[1:]), strict=True):
                print(f"{'killed' if test else 'SURVIVED':9} {mutant.what} ({seconds:.0f} s): {test}", flush=True)
                if test is None:
                    survivors.append(mutant.what)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed; survivors: {', '.join(survivors) or 'none'}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
