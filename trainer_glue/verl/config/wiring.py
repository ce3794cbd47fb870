"""What makes the run ours: the reward, how it enters verl, the chat template, files that are made locally."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rewardkit.diagnostics import Severity
from rewardkit.engine.loading import RewardSource, load_reward, reward_from_config
from rewardkit.errors import RewardKitError, did_you_mean
from trainer_glue.verl.chat_templates import CHAT_TEMPLATES
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.written import SECTION, Written, dig, put
from trainer_glue.verl.hub import NotHad, brings_chat_template, is_hub_id
from trainer_glue.verl.reward_model import ENABLE, FUNCTION, MODULE, bypass
from trainer_glue.verl.tiny import TinyAssets

MODEL: Final = "actor_rollout_ref.model.path"
TEMPLATE: Final = "actor_rollout_ref.model.custom_chat_template"
TRAIN: Final = "data.train_files"
VAL: Final = "data.val_files"
OUT: Final = "trainer.default_local_dir"
REWARD: Final = f"reward.reward_kwargs.{SECTION}"
"""Where the reward travels in verl's config."""

_MANAGER: Final[Mapping[str, str]] = {
    "reward.reward_manager.source": "importlib",
    "reward.reward_manager.name": "RewardManager",
    "reward.reward_manager.module.path": "pkg://trainer_glue.verl",
}
_VERLS_DEFAULTS: Final = ("register", "naive")
"""A manager that files for verl often spell out, and that pays nothing by itself: replaced without a word."""
_SAMPLER_PATH: Final = "trainer.v1.sampler.custom_sampler.path"
_SAMPLER_NAME: Final = "trainer.v1.sampler.custom_sampler.name"
_SAMPLER_REWARD: Final = f"trainer.v1.sampler.sampler_kwargs.{SECTION}"
"""The sampler sees its own arguments only: the reward travels there too, with the tokenizer's folder."""
_AGENT_LOOP: Final = "actor_rollout_ref.rollout.agent.agent_loop_manager_class"
_OWN_AGENT_LOOP: Final = "trainer_glue.verl.AgentLoopManager"
"""It tells the reward loop which tokens of several turns the policy wrote."""
_TOKENIZER: Final = "actor_rollout_ref.model.tokenizer_path"


def find_reward(
    given: RewardSource | str | None, own: Mapping[str, Any], written: Written
) -> tuple[RewardSource | None, list[ConfigDiagnostic]]:
    """The reward: the caller's, else the file's `rewardkit.reward`, else that of a config that was resolved before."""
    key, wired = f"{SECTION}.reward", dig(written.theirs, REWARD)
    try:
        if isinstance(given, RewardSource):
            return given, []
        if given is not None:
            key = "--reward"
            return load_reward(given), []
        if own.get("reward") is not None:
            return load_reward(own["reward"]), []
        if isinstance(wired, Mapping) and "formula" in wired:
            key, plain = REWARD, _unescaped(wired)
            node = reward_from_config(plain)
            return RewardSource(repr(node), plain.get("source"), plain.get("name"), written.where(REWARD), node), []
    except RewardKitError as e:
        return None, [ConfigDiagnostic("reward", e.message, written.where(key), e.hint, key=key)]
    if written.value(key) is not None:
        return None, []  # there is a diagnostic about its type
    hint = "give --reward \"length(0.1, cap=1.5) + ends_with('.?!')\", or set rewardkit.reward in the file"
    return None, [
        ConfigDiagnostic("no-reward", "is not set, and nothing else says what pays this run", hint=hint, key=key)
    ]


def wire_reward(config: dict[str, Any], reward: RewardSource) -> None:
    """Put the reward and rewardkit's manager, sampler and agent loop manager into the config.

    A sampler or agent loop manager that is set is kept, and so is what is set beside the reward: ``deadline``,
    ``unscored_limit``.
    """
    travelling = {k: v if v is None else escaped(v) for k, v in reward.to_config().items()}
    put(config, REWARD, {**(dig(config, REWARD) or {}), **travelling})
    for key, value in _MANAGER.items():
        put(config, key, value)
    tokenizer = MODEL if dig(config, _TOKENIZER) is None else _TOKENIZER
    beside = dig(config, _SAMPLER_REWARD) or {}
    put(config, _SAMPLER_REWARD, {**beside, **travelling, "tokenizer": f"${{{tokenizer}}}"})
    agent_loop = {} if dig(config, "trainer.use_v1") is False else {_AGENT_LOOP: _OWN_AGENT_LOOP}
    asked = {FUNCTION: MODULE} if dig(config, ENABLE) is True else {}
    for key, value in {**_sampler(config), **agent_loop, **asked}.items():
        if dig(config, key) is None:
            put(config, key, value)


def _sampler(config: Mapping[str, Any]) -> dict[str, str]:
    mode = dig(config, "trainer.v1.trainer_mode")
    name = "ReplayBuffer" if mode in (None, "sync") else "ReplayBufferAsync"
    return {_SAMPLER_PATH: "pkg://trainer_glue.verl", _SAMPLER_NAME: name}


def escaped(text: str) -> str:
    """A text that OmegaConf reads as it is: `${` in a formula or in a file's source is not an interpolation."""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text)


def _unescaped(section: Mapping[str, Any]) -> dict[str, Any]:
    """A section as verl's code will see it."""
    from omegaconf import OmegaConf

    plain: dict[str, Any] = OmegaConf.to_container(OmegaConf.create(dict(section)), resolve=True)
    return plain


def check_integration(config: Mapping[str, Any], written: Written) -> list[ConfigDiagnostic]:
    """Settings, before the reward is wired in, that pay by something else or that rewardkit can't carry into verl."""
    diagnostics: list[ConfigDiagnostic] = []

    def add(code: str, key: str, message: str, hint: str | None = None, severity: Severity = Severity.ERROR) -> None:
        diagnostics.append(ConfigDiagnostic(code, message, written.where(key), hint, severity=severity, key=key))

    for key, value in _MANAGER.items():
        if written.is_set(key) and dig(config, key) not in (None, value, *_VERLS_DEFAULTS):
            message = f"is {dig(config, key)!r}, and a formula pays this run through {value!r}"
            add("two-rewards", key, message, "leave it out")
    if dig(config, FUNCTION) not in (None, MODULE):
        add("two-rewards", FUNCTION, "is set, and would never be called: a formula pays this run", "leave it out")
    for key, value in _sampler(config).items():
        if dig(config, key) not in (None, value):
            without = "without rewardkit's there are no per-term training metrics and no token-level rewards"
            add("sampler", key, f"is {dig(config, key)!r}: {without}", severity=Severity.WARNING)
    if dig(config, "trainer.use_v1") is False:
        message = "is false: the old trainer has no per-term training metrics"
        add("old-trainer", "trainer.use_v1", message, severity=Severity.WARNING)
    return diagnostics


def check_reward_model(config: Mapping[str, Any], written: Written) -> list[ConfigDiagnostic]:
    """Settings of verl's reward model, after the reward is wired in, with which verl would not ask the formula."""
    found = bypass(lambda key: dig(config, key))
    if found is None:
        return []
    return [ConfigDiagnostic("bypass", found.message, written.where(found.key), found.fix, key=found.key)]


def wire_template(config: dict[str, Any], own: Mapping[str, Any], written: Written) -> list[ConfigDiagnostic]:
    """Apply `rewardkit.chat_template` to a tokenizer that brings none of its own, in a folder or on the hub."""
    name, key = own.get("chat_template"), f"{SECTION}.chat_template"
    if name is None:
        return []
    if name not in CHAT_TEMPLATES:
        names = f"the templates are {', '.join(CHAT_TEMPLATES)}"
        hint = "; ".join(filter(None, (did_you_mean(name, CHAT_TEMPLATES), names)))
        return [
            ConfigDiagnostic("unknown-template", f"no template is named {name!r}", written.where(key), hint, key=key)
        ]
    path = written.value("actor_rollout_ref.model.tokenizer_path") or written.value(MODEL)
    diagnostics = []
    if isinstance(path, str):
        try:
            if brings_chat_template(path):
                message = f"is {name!r}, and not applied: {path} brings a template of its own, which is kept"
                return [ConfigDiagnostic("own-template", message, written.where(key), key=key)]
        except NotHad as e:
            if is_hub_id(path):
                message = f"is {name!r}, and applied; whether {path} brings a template of its own is not known: {e}"
                diagnostics.append(ConfigDiagnostic("own-template", message, written.where(key), e.fix, key=key))
    put(config, TEMPLATE, CHAT_TEMPLATES[name])
    return diagnostics


def wire_files(
    config: dict[str, Any], own: Mapping[str, Any], written: Written
) -> tuple[frozenset[str], list[ConfigDiagnostic]]:
    """Fill in files that the user left open; the keys of those that are to be made before the run starts."""
    diagnostics: list[ConfigDiagnostic] = []
    if written.is_set(TRAIN) and not written.is_set(VAL):
        put(config, VAL, written.value(TRAIN))
        if dig(config, "trainer.val_before_train") is True or (dig(config, "trainer.test_freq") or 0) > 0:
            message = "is not set: validation runs on the training rows"
            diagnostics.append(ConfigDiagnostic("no-validation", message, key=VAL))
    assets = own.get("assets")
    if assets is None:
        return frozenset(), diagnostics
    if assets != "tiny":
        key = f"{SECTION}.assets"
        return frozenset(), [
            *diagnostics,
            ConfigDiagnostic("assets", f"is {assets!r}; expected tiny", written.where(key), key=key),
        ]
    files = TinyAssets.under(assets_folder(config))
    made = {MODEL: files.model, TRAIN: files.train}
    if not written.is_set(TRAIN):
        made[VAL] = files.val
    made = {k: v for k, v in made.items() if not written.is_set(k)}
    for key, path in made.items():
        put(config, key, str(path))
    return frozenset(made), diagnostics


def assets_folder(config: Mapping[str, Any]) -> Path:
    """Where locally made files go."""
    return Path(str(dig(config, OUT))).expanduser().absolute() / "assets"
