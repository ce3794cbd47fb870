"""What the tests of the pool let a worker do."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from typing import Any


def probe(action: str, argument: Any) -> Any:
    """Do something that shows how a worker ends."""
    if action == "raise":
        raise ValueError(argument)
    if action == "sleep":
        time.sleep(argument)
    elif action == "pause":
        time.sleep(0.02)
    elif action == "spin":
        end = time.process_time() + argument
        while time.process_time() < end:
            pass
    elif action == "power":
        return len(str(3**argument))
    elif action == "exit":
        os._exit(3)
    elif action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "signal":
        os.kill(os.getpid(), argument)
        time.sleep(5)
    elif action == "crash":
        faulthandler.enable()
        os.kill(os.getpid(), signal.SIGSEGV)
    elif action == "object":
        return object()
    elif action == "memory":
        return len(bytearray(8 << 30))
    return argument
