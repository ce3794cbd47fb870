"""Whether a bill of materials holds every package of the tested set: `check_sbom.py SBOM CONSTRAINTS`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from packaging.utils import canonicalize_name


def faults(sbom: Path, constraints: Path) -> list[str]:
    """What the bill lacks, and what it has in another version than the constraints."""
    bill = json.loads(sbom.read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX", bill["bomFormat"]
    listed = {canonicalize_name(part["name"]): part.get("version", "") for part in bill["components"]}
    wrong = []
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", constraints.read_text(encoding="utf-8"), re.MULTILINE):
        has = listed.get(canonicalize_name(name))
        if has is None:
            wrong.append(f"{name}=={version} is not in it")
        elif has.partition("+")[0] != version:  # a build such as 2.13.0+cpu
            wrong.append(f"{name} is {has}; the constraints say {version}")
    return wrong


def main(sbom: Path, constraints: Path) -> None:
    wrong = faults(sbom, constraints)
    if wrong:
        sys.exit(f"{sbom} is not of the tested set:\n  " + "\n  ".join(wrong))
    print(f"{sbom}: all of {constraints}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
