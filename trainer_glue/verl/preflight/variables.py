"""Environment variables that scripts for older versions set: some do nothing now, some stop the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import ROLLOUT, Subject


@dataclass(frozen=True, slots=True)
class Dead:
    """A variable that nothing reads any more.

    Attributes:
        why: since when, and what happens.
        fix: what does the same today.
    """

    why: str
    fix: str


_BACKEND: Final = f"{ROLLOUT}.engine_kwargs.vllm.attention_backend=FLASH_ATTN"
DEAD: Final = {
    "VLLM_ATTENTION_BACKEND": Dead("vLLM 0.14 removed it (vLLM PR 32812), and XFORMERS with it", _BACKEND),
    "VLLM_USE_V1": Dead("vLLM has had one engine since 0.11 (vLLM PR 27798)", "leave it out"),
    "VERL_PPO_LOGGING_LEVEL": Dead("verl reads VERL_LOGGING_LEVEL", "VERL_LOGGING_LEVEL=INFO"),
    "TRANSFORMERS_CACHE": Dead("transformers 5 reads HF_HUB_CACHE", "HF_HUB_CACHE=..., or HF_HOME=..."),
}
_ALLOCATOR: Final = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_SLEEPS: Final = f"{ROLLOUT}.free_cache_engine"


def check_variables(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Variables of this process, which the run inherits."""
    environment = subject.machine.environment
    for name, dead in DEAD.items():
        if (value := environment.get(name)) is not None:
            message = f"{name}={value} is set, and nothing reads it: {dead.why}"
            yield subject.diagnostic("RKD801", "", message, f"unset {name}; {dead.fix}")
    if not subject.on_gpus:
        return
    sleeps = subject.get(_SLEEPS) is not False and subject.get(f"{ROLLOUT}.name") == "vllm"
    for name in _ALLOCATOR:
        value = environment.get(name, "")
        if sleeps and "expandable_segments:true" in value.replace(" ", "").lower():
            message = (
                f"{name}={value} is set: vLLM can't sleep with expandable segments and stops (pytorch issue 147851)"
            )
            yield subject.diagnostic(
                "RKD802", "", message, f"unset {name}: verl switches them on itself, around the sync"
            )
    if environment.get("ROCR_VISIBLE_DEVICES") and any(
        environment.get(n) for n in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
    ):
        message = (
            "ROCR_VISIBLE_DEVICES is set beside CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES: verl's workers refuse both"
        )
        yield subject.diagnostic("RKD802", "", message, "unset ROCR_VISIBLE_DEVICES")
