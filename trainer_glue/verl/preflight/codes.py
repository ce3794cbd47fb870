"""The codes of the preflight's findings: stable over versions, one line each. Causes and fixes: `docs/doctor.md`.

A finding of this package is made by :func:`found`, which refuses a code that isn't in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from trainer_glue.verl.config.findings import Finding, Severity
from trainer_glue.verl.config.keys import Where

CODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "RKD101": "the rollout's engine is not installed",
        "RKD102": "a package is not the version that verl was released with",
        "RKD103": "transformers does not know the model: unknown model type",
        "RKD104": "vLLM does not know the model's architecture",
        "RKD105": "the attention implementation needs flash-attn, which is not installed",
        "RKD106": "padding is removed, and the attention works on whole packs",
        "RKD107": "torch is a build for the CPU on a machine with a GPU",
        "RKD108": "a logger is unknown",
        "RKD109": "W&B has no key",
        "RKD110": "the package of a logger is not installed",
        "RKD111": "trl is installed, in a version that verl's workers fail on",
        "RKD201": "fewer GPUs than the config asks for",
        "RKD202": "more GPUs than the config uses",
        "RKD203": "tensor parallelism does not divide the model",
        "RKD204": "tensor parallelism copies the key-value heads",
        "RKD205": "sequence parallelism does not divide the model or the ranks",
        "RKD206": "tensor parallelism crosses nodes",
        "RKD301": "the rollout does not fit into GPU memory",
        "RKD302": "the update does not fit into GPU memory",
        "RKD303": "the log-probabilities do not fit into GPU memory",
        "RKD304": "the weight sync does not fit into GPU memory",
        "RKD305": "the KV cache does not hold one sequence",
        "RKD306": "the KV cache holds few sequences at once",
        "RKD307": "GPU memory will be nearly full",
        "RKD308": "the host's memory is short",
        "RKD309": "a sequence is longer than the engine or the model takes",
        "RKD310": "a micro batch does not hold one sequence",
        "RKD401": "all samples of a prompt will be equal",
        "RKD402": "the temperature is far from 1",
        "RKD403": "sampling cuts off tokens that the trainer's log-probabilities count",
        "RKD404": "validation draws the same answer several times",
        "RKD501": "checkpoints are saved at the last step only",
        "RKD502": "no checkpoint is saved",
        "RKD503": "validation comes at the last step only",
        "RKD504": "validation files are never used",
        "RKD505": "a large part of every epoch is left out",
        "RKD506": "the learning rate is still warming up at the end",
        "RKD507": "the disk does not hold the checkpoints",
        "RKD601": "gold answers that can't be graded",
        "RKD602": "rows that no route takes",
        "RKD701": "an unbounded term pays for length up to the response limit",
        "RKD702": "a length limit of the formula is beyond the response limit",
        "RKD703": "groups without a difference teach nothing",
        "RKD704": "the formula has a finding of its own",
        "RKD801": "an environment variable that nothing reads any more",
        "RKD802": "an environment variable that stops the run",
        "RKD901": "the model's config could not be read: some checks were left out",
        "RKD902": "the model's memory can't be worked out",
        "RKD903": "a file of the model's weights is broken",
    }
)
"""What each code says, in short."""

ENVIRONMENT: Final = frozenset({"RKD101", "RKD103", "RKD105", "RKD110", "RKD111", "RKD201", "RKD308", "RKD507"})
"""About this machine rather than the config: only warnings where the run is going to be on another one."""


def found(
    code: str,
    key: str,
    message: str,
    where: Where,
    fix: str | None = None,
    severity: Severity = "error",
) -> Finding:
    """A finding with a code of the table.

    Args:
        code: one of :data:`CODES`.
        key: the dotted key it is about; empty when it is about none.
        message: the evidence: what came, and what was expected.
        where: from a key to where the user set it.
        fix: what to change.
        severity: an error stops `rewardkit train`.
    """
    if code not in CODES:
        raise ValueError(f"{code} is no code of the preflight's")
    return Finding(code, key, message, where(key) if key else "", fix, severity)
