"""verl's own reward model beside a formula: what makes verl ask the formula at all.

With ``reward.reward_model.enable=true`` verl 0.9 pays what the reward model says and never calls a reward manager,
unless ``reward.custom_reward_function.path`` is set (verl/experimental/reward_loop/reward_loop.py,
``RewardLoopWorker.compute_score``). So a run with a formula names :func:`compute_score` there; the manager pays by its
formula and never calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn

from rewardkit.errors import ConfigError
from rewardkit.terms.endpoints import Server, serve
from trainer_glue.reward_models import chat_renderer

ENABLE: Final = "reward.reward_model.enable"
OWN_POOL: Final = "reward.reward_model.enable_resource_pool"
FUNCTION: Final = "reward.custom_reward_function.path"
MODULE: Final = "pkg://trainer_glue.verl.reward_model"
"""The value of ``reward.custom_reward_function.path`` with which verl asks the manager."""
POOL_FIX: Final = (
    "give it GPUs of its own: reward.reward_model.enable_resource_pool=true "
    "reward.reward_model.n_gpus_per_node=1 reward.reward_model.nnodes=1"
)


class Bypass(NamedTuple):
    """A setting with which verl would not pay by the formula."""

    key: str
    message: str
    fix: str


def bypass(get: Callable[[str], Any]) -> Bypass | None:
    """Why verl would train past the formula, or None: the one place that knows.

    Args:
        get: from a dotted key of verl's config to its value.
    """
    if get(ENABLE) is not True:
        return None
    if get(FUNCTION) is None:
        message = "is not set, and the reward model is enabled: verl pays its score alone and never asks the formula"
        return Bypass(FUNCTION, message, f"{FUNCTION}={MODULE}, which `rewardkit train` and `config verl-args` set")
    if get(OWN_POOL) is not True:
        message = (
            "is not true: verl scores beside a colocated reward model only after sampling, and hands over neither "
            "ground truths nor data sources, so that no formula can be paid"
        )
        return Bypass(OWN_POOL, message, POOL_FIX)
    return None


def serve_verls(get: Callable[[str], Any], router: str | None, tokenizer: Any) -> None:
    """Let formulas ask verl's reward model by the name ``verl`` in this process; nothing where verl serves none.

    Args:
        get: from a dotted key of verl's config to its value.
        router: host and port of verl's router.
        tokenizer: the reward model's.
    """
    if router is None:
        return
    render = chat_renderer(tokenizer) if getattr(tokenizer, "chat_template", None) else None
    engine = str(get("reward.reward_model.rollout.name") or "vllm")
    model = get("reward.reward_model.model_path")
    serve(Server("verl", f"http://{router}", engine, model=None if model is None else str(model), render=render))


def compute_score(*_: Any, **__: Any) -> NoReturn:
    """What verl wants to be named so that it asks the reward manager. Nothing calls it.

    Raises:
        ConfigError: another manager than rewardkit's called it.
    """
    raise ConfigError(
        "trainer_glue.verl.reward_model.compute_score was called; it only stands for the formula",
        hint="reward.reward_manager={source: importlib, name: RewardManager, module.path: pkg://trainer_glue.verl}",
    )
