"""Install the wheel of a folder into an empty environment and use it as its first user would.

Not a pytest file: it needs the network for the core's few dependencies. `make build` runs it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

PROGRAM = """
import importlib.util, rewardkit
from rewardkit import Batch, compile, ends_with, length
assert compile(length(0.1) + ends_with('.?!'))(Batch(['Two plus two is four.'])).total.tolist() == [1.5]
import sys
for absent in ('torch', 'transformers', 'ray', 'verl'):
    assert importlib.util.find_spec(absent) is None, absent
from rewardkit.source import ready_made
assert ready_made(), 'the ready-made rewards are missing'
print('core', rewardkit.__version__, 'works without torch; ready-made:', ', '.join(ready_made()))
"""


def main(folder: Path) -> None:
    (wheel,) = folder.glob("rewardkit_rl-*.whl")
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = Path(scratch) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", wheel], check=True)
        subprocess.run([python, "-c", PROGRAM], check=True, cwd=scratch)
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
