"""What verl loads in every process of a run on the CPU (``VERL_USE_EXTERNAL_MODULES``).

Importing it is the point: it refuses a verl that was not tested, applies the workarounds, and registers the platform
``cpu`` and the rollout ``hf_cpu``. verl imports it at the end of its own ``__init__``, so it may import from verl
only what does not need a finished ``import verl``. It prints nothing.
"""

from __future__ import annotations

import os

from trainer_glue.verl.cpu.workarounds import apply_workarounds
from trainer_glue.verl.versions.installed import find_verl

# First of all: on another version the imports below may fail with something that tells a user nothing.
find_verl()  # in another version the lines that the workarounds name may have moved

import torch  # noqa: E402
from verl.plugin.platform.platform_manager import PlatformRegistry  # noqa: E402
from verl.workers.rollout import base, replica  # noqa: E402

from trainer_glue.verl.cpu import ROLLOUT  # noqa: E402
from trainer_glue.verl.cpu.cores import share_of_cores  # noqa: E402
from trainer_glue.verl.cpu.platform import PlatformCPU  # noqa: E402


def _replica_class() -> type:
    from trainer_glue.verl.cpu.replica import CpuReplica

    return CpuReplica


apply_workarounds()
PlatformRegistry.register(platform="cpu")(PlatformCPU)
base._ROLLOUT_REGISTRY[(ROLLOUT, "async")] = "trainer_glue.verl.cpu.adapter.CpuRollout"
replica.RolloutReplicaRegistry.register(ROLLOUT, _replica_class)

# verl gives a trainer's rank its world size in the environment of the process (single_controller/ray/base.py).
if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
    torch.set_num_threads(share_of_cores(int(os.environ["WORLD_SIZE"])))
