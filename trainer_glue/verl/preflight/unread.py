"""What could not be looked at, said as such: a check that is left out without a word looks like one that passed."""

from __future__ import annotations

from collections.abc import Iterator

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.hub import is_hub_id
from trainer_glue.verl.preflight.subject import ACTOR, MODEL, Subject


def check_unread(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """A model whose config can't be had, or is of a kind that the estimate does not describe."""
    key = f"{MODEL}.path"
    if not subject.on_gpus:
        return
    if subject.no_model is not None and is_hub_id(str(subject.get(key))):
        message = f"{subject.no_model}: memory, divisibility and versions were not checked against the model"
        yield subject.diagnostic("RKD901", key, message, subject.no_model.fix)
    elif subject.model is not None and subject.shape is None:
        kind = subject.model.get("model_type")
        message = f"a model of type {kind!r} is not a plain decoder-only transformer: its memory was not estimated"
        yield subject.diagnostic("RKD902", key, message)
    elif subject.shape is not None and subject.get(f"{ACTOR}.strategy") not in ("fsdp", "fsdp2"):
        message = f"is {subject.get(f'{ACTOR}.strategy')!r}: memory is estimated for fsdp and fsdp2 only"
        yield subject.diagnostic("RKD902", f"{ACTOR}.strategy", message)
