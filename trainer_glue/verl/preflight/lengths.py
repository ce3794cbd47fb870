"""Sequence lengths against what the engine, the model and a micro batch take."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.diagnostics import Severity
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import ACTOR, MODEL, REF, ROLLOUT, Subject


def check_lengths(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """The longest prompt with the longest response: does it fit everywhere?"""
    sequence = subject.sequence
    if not sequence:
        return
    what = (
        f"the longest prompt and response are {subject.integer('data.max_prompt_length'):,} + "
        f"{subject.integer('data.max_response_length'):,} = {sequence:,} tokens"
    )
    taken, key = subject.integer(f"{ROLLOUT}.max_model_len"), f"{ROLLOUT}.max_model_len"
    shape = subject.shape
    if taken and taken < sequence:
        message = f"is {taken:,}, and {what}: responses to long prompts are cut short"
        yield subject.diagnostic("RKD309", key, message, f"{key}={sequence}", Severity.WARNING)
    context = None if shape is None else shape.context
    if context is not None and sequence > context:
        message = f"takes {context:,} tokens, and {what}"
        fix = f"data.max_response_length={max(1, context - subject.integer('data.max_prompt_length'))}"
        yield subject.diagnostic("RKD309", f"{MODEL}.path", message, fix)
    elif context is not None and taken > context:
        message = f"is {taken:,}, and the model takes {context:,}: verl refuses it"
        yield subject.diagnostic("RKD309", key, message, f"{key}={sequence}")
    for switch, stem in (
        (f"{ACTOR}.use_dynamic_bsz", f"{ACTOR}.ppo"),
        (f"{ROLLOUT}.log_prob_use_dynamic_bsz", f"{ROLLOUT}.log_prob"),
        (f"{REF}.log_prob_use_dynamic_bsz", f"{REF}.log_prob"),
    ):
        key = f"{stem}_max_token_len_per_gpu"
        holds = subject.integer(key) * max(1, subject.integer(f"{ACTOR}.ulysses_sequence_parallel_size", 1))
        if subject.on(switch) and 0 < holds < sequence:
            message = f"is {subject.integer(key):,}, and {what}: verl stops at the first longer one"
            yield subject.diagnostic("RKD310", key, message, f"{key}={2 * sequence} or more")
