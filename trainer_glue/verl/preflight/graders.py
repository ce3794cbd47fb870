"""Models that grade: whether what the formula asks is there, fits beside the policy, and can read a conversation."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from rewardkit.errors import RewardKitError
from rewardkit.terms.endpoints import is_url, server
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.hub import NotHad, brings_chat_template, model_config
from trainer_glue.verl.preflight.memory import GIB
from trainer_glue.verl.preflight.model_shape import shape_of
from trainer_glue.verl.preflight.subject import Subject
from trainer_glue.verl.reward_model import ENABLE, POOL_FIX

MODEL: Final = "reward.reward_model"
REACH_S: Final = 2.0
"""Seconds to wait for a server."""
_REWARD: Final = "rewardkit.reward"
_VERLS: Final = "verl"
_WORKING: Final = 1.15
"""Weights with what a forward pass needs beside them, at least."""


def check_graders(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """The servers that the formula asks, and the reward model that verl serves."""
    asked = _asked(subject)
    served = subject.on(ENABLE)
    if served:
        yield from _served(subject, asked.get(_VERLS, frozenset()))
    for base, terms in asked.items():
        if base == _VERLS and served:
            if "group_judge" in terms:
                message = "group_judge asks 'verl', and whole groups are judged where verl's router is not known"
                yield subject.diagnostic("RKD708", _REWARD, message, "give group_judge another server's URL or name")
            continue
        yield from _server(subject, base, terms)


def reward_gpus(subject: Subject) -> int:
    """GPUs of the reward model's own, over all nodes."""
    if not (subject.on(ENABLE) and subject.on(f"{MODEL}.enable_resource_pool")):
        return 0
    return subject.integer(f"{MODEL}.n_gpus_per_node") * subject.integer(f"{MODEL}.nnodes")


def grader_lines(subject: Subject) -> list[str]:
    """The reward model in words, for the table of memory; empty where there is none."""
    gpus = reward_gpus(subject)
    if not gpus or not subject.on_gpus:
        return []
    weights = _weights(subject)
    each = "unknown" if weights is None else f"{weights / GIB:.1f} GiB of weights"
    share = subject.number(f"{MODEL}.rollout.gpu_memory_utilization", 0.5)
    return [f"reward model on {gpus} GPU{'s' if gpus > 1 else ''} of its own: {each} on each, of {share:.0%}"]


def _asked(subject: Subject) -> Mapping[str, frozenset[str]]:
    """From each server that the formula asks to the terms that do."""
    reward = subject.resolved.reward
    asked: dict[str, frozenset[str]] = {}
    for node in reward.reward.walk() if reward is not None else ():
        if node.term is not None and node.term.builtin and (base := dict(node.params).get("base_url")):
            asked[str(base)] = asked.get(str(base), frozenset()) | {node.term.name}
    return asked


def _server(subject: Subject, base: str, terms: frozenset[str]) -> Iterator[ConfigDiagnostic]:
    who = " and ".join(sorted(terms))
    try:
        found = server(base, wanted_by=who)
    except RewardKitError as e:
        if is_url(base):
            return  # which key its terms send is theirs to say
        yield subject.diagnostic("RKD708" if base == _VERLS else "RKD705", _REWARD, e.message, e.hint)
        return
    if found.local is not None or subject.elsewhere:
        return
    parts = urlsplit(found.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=REACH_S).close()
    except OSError as e:
        message = f"{who} asks {base!r}, and nothing answers at {parts.hostname}:{port} ({e}): no row would be scored"
        yield subject.diagnostic("RKD706", _REWARD, message, "start the server, or mend REWARDKIT_ENDPOINTS")


def _served(subject: Subject, terms: frozenset[str]) -> Iterator[ConfigDiagnostic]:
    """What verl is to serve."""
    if not terms:
        message = "is true, and the formula never asks that model: its GPUs do nothing"
        yield subject.diagnostic("RKD707", ENABLE, message, "add 0.2 * reward_model(low=-5, high=5), or leave it out")
    key, path = f"{MODEL}.model_path", subject.get(f"{MODEL}.model_path")
    if not isinstance(path, str):
        yield subject.diagnostic("RKD708", key, "is not set, and the reward model is enabled", "a folder or a hub id")
        return
    try:
        config, speaks = model_config(path), brings_chat_template(path)
    except NotHad:
        return  # verl says so when it starts, and the run may be elsewhere
    if not speaks:
        message = f"{path} has no chat template: conversations can't be laid out for it"
        yield subject.diagnostic("RKD708", key, message, "set tokenizer.chat_template and save the tokenizer")
    outputs = _outputs(config)
    if "reward_model" in terms and outputs != 1:
        what = "writes text" if outputs is None else f"has {outputs} outputs"
        message = f"{path} {what}; reward_model(...) asks a sequence-classification model with one output"
        yield subject.diagnostic("RKD708", key, message, "another model, or judge(base_url='verl') for one that writes")
    yield from _memory(subject, config)


def _outputs(config: Mapping[str, Any]) -> int | None:
    """How many numbers a model gives a text; None where it writes."""
    names = config.get("architectures") or [""]
    if not str(names[0]).endswith("ForSequenceClassification"):
        return None
    labels = config.get("id2label")
    return len(labels) if isinstance(labels, Mapping) else int(config.get("num_labels") or 2)


def _weights(subject: Subject) -> float | None:
    """Bytes of the reward model's weights on a GPU; None where its size is not known."""
    path = subject.get(f"{MODEL}.model_path")
    try:
        shape = shape_of(model_config(path)) if isinstance(path, str) else None
    except NotHad:
        return None
    if shape is None:
        return None
    one_head = shape.architecture.endswith("ForSequenceClassification") and not shape.tied
    parameters = shape.parameters - (shape.embedding if one_head else 0)
    size = 4 if str(subject.get(f"{MODEL}.rollout.dtype")) in ("float32", "fp32") else 2
    return parameters * size / max(1, subject.integer(f"{MODEL}.rollout.tensor_model_parallel_size", 1))


def _memory(subject: Subject, config: Mapping[str, Any]) -> Iterator[ConfigDiagnostic]:
    weights = _weights(subject)
    tensor = f"{MODEL}.rollout.tensor_model_parallel_size"
    if not subject.on_gpus or weights is None:
        return
    if (gpus := reward_gpus(subject)) and gpus < subject.integer(tensor, 1):
        message = f"is {subject.integer(tensor, 1)}, and the reward model has {gpus} GPUs: no replica fits"
        yield subject.diagnostic("RKD311", tensor, message, f"{tensor}={gpus}")
        return
    key = f"{MODEL}.rollout.gpu_memory_utilization"
    share = subject.number(key, 0.5) or 0.5
    room, needed = share * subject.gpu, weights * _WORKING
    if needed > room:
        message = f"is {share:g}, {room / GIB:.1f} GiB of a GPU; the reward model takes an estimated {needed / GIB:.1f}"
        fits = min(0.95, -(-100 * needed // subject.gpu) / 100)
        fix = f"{key}={fits:g}" if needed < 0.95 * subject.gpu else f"a larger {tensor}"
        yield subject.diagnostic("RKD311", key, message, f"{fix}; {POOL_FIX}" if not reward_gpus(subject) else fix)
