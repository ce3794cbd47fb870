"""How responses are sampled: what makes all of them equal, and what the trainer's log-probabilities don't know of.

verl's trainer divides its logits by `rollout.temperature`; of `top_p` and `top_k` it knows nothing
(verl/workers/engine/fsdp/transformer_impl.py, `_scale_logits_by_temperature`; verl issue 6240).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import ROLLOUT, Subject

LOWEST: Final = 0.5
HIGHEST: Final = 1.5
"""Temperatures outside are likely a slip: samples that hardly differ, or that say nothing."""
_TEMPERATURE: Final = f"{ROLLOUT}.temperature"


def check_sampling(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Temperature, truncation, and validation's own settings."""
    n = subject.integer(f"{ROLLOUT}.n", 1)
    temperature = subject.number(_TEMPERATURE, 1.0)
    top_p, top_k = subject.number(f"{ROLLOUT}.top_p", 1.0), subject.integer(f"{ROLLOUT}.top_k", -1)
    if temperature is not None and temperature <= 0:
        message = f"is {temperature:g}: the {n} responses to a prompt are all the same, and their advantages 0"
        yield subject.diagnostic("RKD401", _TEMPERATURE, message, f"{_TEMPERATURE}=1.0")
    elif temperature is not None and not LOWEST <= temperature <= HIGHEST:
        effect = "samples hardly differ" if temperature < LOWEST else "samples are mostly noise"
        message = f"is {temperature:g}: {effect}; groups whose rewards are equal teach nothing"
        yield subject.diagnostic("RKD402", _TEMPERATURE, message, f"{_TEMPERATURE}=1.0")
    if top_k == 1:
        message = f"is 1: the {n} responses to a prompt are all the same, and their advantages 0"
        yield subject.diagnostic("RKD401", f"{ROLLOUT}.top_k", message, f"{ROLLOUT}.top_k=-1")
    elif top_k > 1:
        yield _cut(subject, "top_k", f"is {top_k}", "-1")
    if top_p is not None and top_p < 1:
        yield _cut(subject, "top_p", f"is {top_p:g}", "1.0")
    validation = f"{ROLLOUT}.val_kwargs"
    draws = subject.integer(f"{validation}.n", 1)
    if draws > 1 and (not subject.on(f"{validation}.do_sample") or subject.number(f"{validation}.temperature") == 0):
        message = f"is {draws}, and validation is greedy: it generates the same response {draws} times"
        fix = f"{validation}.do_sample=true {validation}.temperature=1.0, or {validation}.n=1"
        yield subject.diagnostic("RKD404", f"{validation}.n", message, fix)


def _cut(subject: Subject, name: str, value: str, neutral: str) -> ConfigDiagnostic:
    key = f"{ROLLOUT}.{name}"
    message = (
        f"{value}: tokens are drawn from a cut-off distribution, and the trainer's log-probabilities are those of the "
        "whole one, which biases the policy gradient"
    )
    return subject.diagnostic("RKD403", key, message, f"{key}={neutral}")
