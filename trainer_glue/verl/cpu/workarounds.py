"""Every patch of verl or torch that a run on the CPU needs. There are no others in the tree.

Each entry of :data:`WORKAROUNDS` quotes the line of verl that calls for it. The canary tests read that line in the
installed verl, see it fail unpatched and work patched, and so tell when an entry has become superfluous or no longer
fits. What an extension point can do (platform, rollout, config key) does not belong here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


class CpuDevice(str):
    """The name of the CPU device, which formats as an index.

    verl uses ``get_device_id()`` both as a device, ``tensor.to(get_device_id())``, and as an index,
    ``f"{get_device_name()}:{get_device_id()}"`` (verl/utils/fsdp_utils.py:229). An integer would be a CUDA device in
    the first, and ``"cpu"`` make ``"cpu:cpu"`` in the second.
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return format("0", spec)


CPU: Final = CpuDevice("cpu")


@dataclass(frozen=True, slots=True)
class Workaround:
    """One patch.

    Attributes:
        name: a short name, for tests and messages.
        file: of verl, that calls for it.
        line: in that file.
        quote: what the line says.
        why: what happens without it.
        apply: patches; called once in each process, before verl imports what is patched.
    """

    name: str
    file: str
    line: int
    quote: str
    why: str
    apply: Callable[[], None]


def _one_gloo_backend() -> None:
    import verl.utils.distributed as distributed

    original = distributed.initialize_global_process_group_ray

    @functools.wraps(original)
    def initialize(timeout_second: int | None = None, backend: str | None = None) -> None:
        original(timeout_second, backend or "gloo")

    distributed.initialize_global_process_group_ray = initialize


def _pin_nothing() -> None:
    import torch

    def pin_memory(self: Any, device: Any = None) -> Any:
        return self

    torch.Tensor.pin_memory = pin_memory


def _sync_module_states_on_cpu() -> None:
    import torch.distributed.fsdp._init_utils as init_utils

    if not hasattr(init_utils, "_check_module_states_for_sync_module_states"):
        raise AttributeError("torch.distributed.fsdp._init_utils._check_module_states_for_sync_module_states is gone")
    init_utils._check_module_states_for_sync_module_states = lambda module_states: None


def _critic_with_sdpa() -> None:
    import verl.utils.model as model

    @functools.wraps(model.load_valuehead_model)
    def load(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
        from transformers import AutoModelForTokenClassification

        return AutoModelForTokenClassification.from_pretrained(
            local_path,
            dtype=torch_dtype,
            config=model_config,
            attn_implementation="sdpa",
            trust_remote_code=trust_remote_code,
        )

    model.load_valuehead_model = load


WORKAROUNDS: Final = (
    Workaround(
        name="one gloo backend",
        file="utils/distributed.py",
        line=89,
        quote='backend = backend or f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"',
        why='builds "cpu:gloo,<device>:<backend>", here "cpu:gloo,cpu:gloo", and torch refuses the duplicate device',
        apply=_one_gloo_backend,
    ),
    Workaround(
        name="pin nothing",
        file="workers/engine/fsdp/transformer_impl.py",
        line=462,
        quote="offload_policy = CPUOffloadPolicy(pin_memory=True)",
        why="a reference model pins its memory (FSDP1: CPUOffload, line 433), which needs an accelerator",
        apply=_pin_nothing,
    ),
    Workaround(
        name="sync module states on the CPU",
        file="workers/engine/fsdp/transformer_impl.py",
        line=444,
        quote="sync_module_states=True,",
        why="FSDP1 refuses parameters on the CPU there, for NCCL's sake; gloo broadcasts them",
        apply=_sync_module_states_on_cpu,
    ),
    Workaround(
        name="critic with sdpa",
        file="utils/model.py",
        line=649,
        quote='attn_implementation="flash_attention_2",',
        why="a critic (adv_estimator=gae) is loaded with a GPU package's attention, whatever the config says",
        apply=_critic_with_sdpa,
    ),
)

_applied: set[str] = set()


def apply_workarounds() -> None:
    """Apply all of them, each once in a process."""
    for workaround in WORKAROUNDS:
        if workaround.name not in _applied:
            workaround.apply()
            _applied.add(workaround.name)
