"""Every patch of vLLM that a run on the CPU needs. There are no others in the tree.

As in :mod:`trainer_glue.verl.cpu.workarounds`, each entry quotes the line that calls for it, here of vLLM: ``file`` is
below its package folder. The canary tests read that line in the installed vLLM, see verl's reload fail unpatched and
work patched. They run where vLLM is installed: ``make test-vllm``.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from trainer_glue.verl.cpu.workarounds import Workaround

__all__ = ["WORKAROUNDS", "apply_workarounds"]


def _keep_the_weights() -> None:
    import vllm.model_executor.layers.utils as utils

    original = utils.dispatch_cpu_unquantized_gemm

    @functools.wraps(original)
    def dispatch(layer: Any, remove_weight: bool) -> None:
        # Still packed for the fast kernels; verl has vLLM pack again after each reload
        # (verl/workers/rollout/vllm_rollout/utils.py:353).
        original(layer, remove_weight=False)

    utils.dispatch_cpu_unquantized_gemm = dispatch


WORKAROUNDS: Final = (
    Workaround(
        name="keep the weights",
        file="model_executor/layers/linear.py",
        line=216,
        quote="dispatch_cpu_unquantized_gemm(layer, remove_weight=True)",
        why="vLLM packs a linear layer's weight and drops the original with its loader, so that verl's next weights "
        "find nothing to be loaded into; the server's error then leaves the trainer waiting for ever",
        apply=_keep_the_weights,
    ),
)

_applied: set[str] = set()


def apply_workarounds() -> None:
    """Apply all of them, each once in a process; before vLLM loads its model."""
    for workaround in WORKAROUNDS:
        if workaround.name not in _applied:
            workaround.apply()
            _applied.add(workaround.name)
