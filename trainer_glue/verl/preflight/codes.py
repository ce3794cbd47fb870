"""The codes of the preflight, each with its usual severity, one line each. Causes and fixes: `docs/doctor.md`."""

from __future__ import annotations

from typing import Final

from rewardkit.diagnostics import Severity, register

_ERROR, _WARNING = Severity.ERROR, Severity.WARNING

register(
    "doctor",
    {
        "RKD101": (_ERROR, "the rollout's engine is not installed"),
        "RKD102": (_WARNING, "a package is not the version that verl was released with"),
        "RKD103": (_ERROR, "transformers does not know the model: unknown model type"),
        "RKD104": (_WARNING, "vLLM does not know the model's architecture"),
        "RKD105": (_ERROR, "the attention implementation needs flash-attn, which is not installed"),
        "RKD106": (_WARNING, "padding is removed, and the attention works on whole packs"),
        "RKD107": (_WARNING, "torch is a build for the CPU on a machine with a GPU"),
        "RKD108": (_ERROR, "a logger is unknown"),
        "RKD109": (_WARNING, "W&B has no key"),
        "RKD110": (_ERROR, "the package of a logger is not installed"),
        "RKD111": (_ERROR, "trl is installed, in a version that verl's workers fail on"),
        "RKD201": (_ERROR, "fewer GPUs than the config asks for"),
        "RKD202": (_WARNING, "more GPUs than the config uses"),
        "RKD203": (_ERROR, "tensor parallelism does not divide the model"),
        "RKD204": (_WARNING, "tensor parallelism copies the key-value heads"),
        "RKD205": (_ERROR, "sequence parallelism does not divide the model or the ranks"),
        "RKD206": (_WARNING, "tensor parallelism crosses nodes"),
        "RKD207": (_ERROR, "fewer GPUs than the trainer and the reward model ask for together"),
        "RKD301": (_ERROR, "the rollout does not fit into GPU memory"),
        "RKD302": (_ERROR, "the update does not fit into GPU memory"),
        "RKD303": (_ERROR, "the log-probabilities do not fit into GPU memory"),
        "RKD304": (_ERROR, "the weight sync does not fit into GPU memory"),
        "RKD305": (_ERROR, "the KV cache does not hold one sequence"),
        "RKD306": (_WARNING, "the KV cache holds few sequences at once"),
        "RKD307": (_WARNING, "GPU memory will be nearly full"),
        "RKD308": (_ERROR, "the host's memory is short"),
        "RKD309": (_ERROR, "a sequence is longer than the engine or the model takes"),
        "RKD310": (_ERROR, "a micro batch does not hold one sequence"),
        "RKD311": (_ERROR, "the reward model does not fit into GPU memory"),
        "RKD401": (_ERROR, "all samples of a prompt will be equal"),
        "RKD402": (_WARNING, "the temperature is far from 1"),
        "RKD403": (_WARNING, "sampling cuts off tokens that the trainer's log-probabilities count"),
        "RKD404": (_WARNING, "validation draws the same answer several times"),
        "RKD501": (_WARNING, "checkpoints are saved at the last step only"),
        "RKD502": (_WARNING, "no checkpoint is saved"),
        "RKD503": (_WARNING, "validation comes at the last step only"),
        "RKD504": (_WARNING, "validation files are never used"),
        "RKD505": (_WARNING, "a large part of every epoch is left out"),
        "RKD506": (_WARNING, "the learning rate is still warming up at the end"),
        "RKD507": (_ERROR, "the disk does not hold the checkpoints"),
        "RKD601": (_WARNING, "ground truths that can't be graded"),
        "RKD602": (_WARNING, "rows that no route takes"),
        "RKD701": (_WARNING, "an unbounded term pays for length up to the response limit"),
        "RKD702": (_WARNING, "a length limit of the formula is beyond the response limit"),
        "RKD703": (_WARNING, "groups without a difference teach nothing"),
        "RKD704": (_WARNING, "the formula has a diagnostic of its own"),
        "RKD705": (_ERROR, "the formula asks a server that nothing names"),
        "RKD706": (_WARNING, "a server that the formula asks can't be reached"),
        "RKD707": (_WARNING, "a reward model is served, and the formula does not ask it"),
        "RKD708": (_ERROR, "the reward model is none that can be asked"),
        "RKD709": (_ERROR, "this machine can't shut programs in"),
        "RKD710": (_ERROR, "programs can get out of their sandbox"),
        "RKD711": (_WARNING, "every response will be paid the same"),
        "RKD801": (_WARNING, "an environment variable that nothing reads any more"),
        "RKD802": (_ERROR, "an environment variable that stops the run"),
        "RKD901": (_WARNING, "the model's config could not be read: some checks were left out"),
        "RKD902": (_WARNING, "the model's memory can't be worked out"),
        "RKD903": (_ERROR, "a file of the model's weights is broken"),
    },
)

ENVIRONMENT: Final = frozenset(
    {"RKD101", "RKD103", "RKD105", "RKD110", "RKD111", "RKD201", "RKD207", "RKD308", "RKD507", "RKD705", "RKD709"}
)
"""About this machine rather than the config: only warnings where the run is going to be on another one."""
