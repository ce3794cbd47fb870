"""Install the wheel and the sdist of a folder into empty environments, and use them as their first user would.

Not a pytest file: it needs the network for the core's few dependencies. `make build` runs it.
"""

from __future__ import annotations

import email
import hashlib
import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints" / "verl-cpu.txt"
TESTED = ("verl", "data", "ray", "reasoning-gym", "report", "serve", "terms", "testing", "dev")
"""The extras that the tested environment holds."""
NEEDED = (
    "rewardkit/py.typed",
    "trainer_glue/py.typed",
    "rewardkit/rewards/gsm8k.py",
    "trainer_glue/verl/recipes/tiny.yaml",
)

PROGRAM = """
import importlib.util, rewardkit
from importlib.resources import files
from rewardkit import Batch, compile, ends_with, length
assert compile(length(0.1) + ends_with('.?!'))(Batch(['Two plus two is four.'])).total.tolist() == [1.5]
import sys
for absent in ('torch', 'transformers', 'ray', 'verl'):
    assert importlib.util.find_spec(absent) is None, absent
from rewardkit.engine.loading import ready_made
assert ready_made(), 'the ready-made rewards are missing'
assert (files('rewardkit') / 'py.typed').is_file()
print('core', rewardkit.__version__, 'works without torch; ready-made:', ', '.join(ready_made()))
"""


def main(folder: Path) -> None:
    (wheel,) = folder.glob("rewardkit_rl-*.whl")
    (sdist,) = folder.glob("rewardkit_rl-*.tar.gz")
    check_wheel(wheel)
    check_extras(wheel)
    with tempfile.TemporaryDirectory() as scratch:
        again = wheel_of(sdist, Path(scratch))
        assert contents(again) == contents(wheel), "the sdist makes another wheel"
        print(f"{sdist.name}: makes the same wheel, {len(contents(wheel))} files")
    for package in (wheel, sdist):
        with tempfile.TemporaryDirectory() as scratch:
            python = installed(package, Path(scratch))
            subprocess.run([python, "-c", PROGRAM], check=True, cwd=scratch)
            if package is wheel:
                use(python)


def installed(package: Path, scratch: Path) -> Path:
    """An empty environment with a package in it; its interpreter."""
    venv.create(scratch, with_pip=True)
    python = scratch / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", package], check=True)
    return python


def wheel_of(sdist: Path, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", scratch, sdist]
    subprocess.run(command, check=True)
    (wheel,) = scratch.glob("*.whl")
    return wheel


def contents(wheel: Path) -> dict[str, str]:
    """Each file's hash; the list of files, which the archive's tool writes, is left out."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith(".dist-info/RECORD")]
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in names}


def check_wheel(wheel: Path) -> None:
    names = set(contents(wheel))
    missing = [name for name in NEEDED if name not in names]
    assert not missing, f"{wheel.name} lacks {missing}"
    strange = {name.partition("/")[0] for name in names} - {"rewardkit", "trainer_glue"}
    assert all(name.endswith(".dist-info") for name in strange), strange


def check_extras(wheel: Path) -> None:
    """What the wheel's extras ask for takes the versions that were tested."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    pins = {
        canonicalize_name(m[1]): m[2] for m in re.finditer(r"^([\w.-]+)==(\S+)", CONSTRAINTS.read_text(), re.MULTILINE)
    }
    asked = 0
    for text in metadata.get_all("Requires-Dist") or ():
        requirement = Requirement(text)
        package = canonicalize_name(requirement.name)
        marker = requirement.marker
        if package == canonicalize_name(metadata["Name"]):
            continue
        if marker is not None and not any(
            marker.evaluate({**default_environment(), "extra": e}) for e in ("", *TESTED)
        ):
            continue
        asked += 1
        assert package in pins, f"{package} is asked for, and {CONSTRAINTS.name} has no version of it"
        assert requirement.specifier.contains(pins[package]), f"{requirement} does not take the tested {pins[package]}"
    print(f"the core and [{','.join(TESTED)}] ask for {asked} packages, and take the versions in {CONSTRAINTS.name}")


def use(python: Path) -> None:
    """The command line: its help, and what it says where verl is missing."""
    command = [python.with_name("rewardkit"), "--help"]
    subprocess.run(command, check=True, capture_output=True)  # byte-compiles
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    print(f"rewardkit --help: {sorted(times)[2] * 1000:.0f} ms (median of 5)")
    failed = subprocess.run([python.with_name("rewardkit"), "train"], capture_output=True, text=True)
    assert failed.returncode == 2, failed
    assert "rewardkit-rl[verl]" in failed.stderr, failed.stderr
    assert "Traceback" not in failed.stderr, failed.stderr


if __name__ == "__main__":
    main(Path(sys.argv[1]))
