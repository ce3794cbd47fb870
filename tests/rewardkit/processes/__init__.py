"""Tests of the worker pool. Workers import nothing from the working folder, so their actions have one of their own."""

import sys
from pathlib import Path

ACTIONS = str(Path(__file__).parent / "actions")
if ACTIONS not in sys.path:
    sys.path.append(ACTIONS)
PROBE = "worker_actions:probe"
