"""verl's own checks of a config, in a process of their own: ``python -m trainer_glue.verl.config.ask_verl < JSON``.

The sections become the dataclasses that verl makes of them in its workers, one by one, so that each can say what is
wrong with it; then comes `validate_config`, which stops at the first fault. Answers with a JSON list of diagnostics.
The model's section is left out: its dataclass loads the tokenizer.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from trainer_glue.verl.config.written import dig

_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_MODEL: Final = "actor_rollout_ref.model"
_SECTIONS: Final = (_ACTOR, _ROLLOUT, "algorithm")
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*[\w]")
_FULL_KEY: Final = re.compile(r"full_key: ([\w.]+)")
_ERRORS: Final = (ValueError, TypeError, AssertionError, RuntimeError, NotImplementedError)


def ask(config: dict[str, Any]) -> list[dict[str, str]]:
    """What verl says of a config; imports verl."""
    from hydra.errors import InstantiationException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    by_message: dict[str, dict[str, str]] = {}
    if importlib.util.find_spec("vllm") is None and _asks_vllm(config):
        message = "vllm is not installed here: verl's check of the rank was left out"
        by_message[message] = {"key": f"{_MODEL}.lora_rank", "message": message, "severity": "warning"}
        config = {**config, "actor_rollout_ref": {**config["actor_rollout_ref"], "model": {}}}
    whole = OmegaConf.create(config)
    reference, critic = bool(need_reference_policy(whole)), bool(need_critic(whole))
    checks: list[tuple[str, Callable[[], object]]] = [
        (section, partial(omega_conf_to_dataclass, OmegaConf.select(whole, section)))
        for section in (*_SECTIONS, *(["critic"] if critic else []))
    ]
    if reference:
        checks.append((_REF, lambda: omega_conf_to_dataclass(OmegaConf.create(_as_actor(config)))))
    checks.append(("", lambda: validate_config(whole, reference, critic)))
    for section, check in checks:
        try:
            check()
        except (*_ERRORS, InstantiationException, OmegaConfBaseException) as e:
            message, inner = _message(e)
            place = inner or section
            by_message.setdefault(
                message, {"key": _key(message, place, config), "message": message, "severity": "error"}
            )
    return list(by_message.values())


def _asks_vllm(config: dict[str, Any]) -> bool:
    """Whether `validate_config` ends by asking vLLM for the greatest rank of a LoRA adapter."""
    model = dig(config, _MODEL) or {}
    lora = model.get("lora") or {}
    uses = (lora.get("rank") or 0) > 0 or (model.get("lora_rank") or 0) > 0
    return uses and not lora.get("merge") and dig(config, f"{_ROLLOUT}.name") == "vllm"


def _as_actor(config: dict[str, Any]) -> dict[str, Any]:
    """The reference model's section as verl's worker makes an actor's of it (workers/engine_workers.py)."""
    ref = dict(dig(config, _REF))
    for name in ("micro_batch_size", "micro_batch_size_per_gpu", "max_token_len_per_gpu"):
        ref[f"ppo_{name}"] = ref.pop(f"log_prob_{name}", None)
    ref["use_dynamic_bsz"] = ref.pop("log_prob_use_dynamic_bsz", False)
    ref["ppo_mini_batch_size"] = dig(config, f"{_ACTOR}.ppo_mini_batch_size")
    return ref


def _message(error: BaseException) -> tuple[str, str]:
    """The text of the fault itself, without hydra's frame around it, and the section that it names."""
    inner = _FULL_KEY.search(str(error))
    cause = error.__cause__ if error.__cause__ is not None else error
    text = str(cause).strip() or type(cause).__name__
    return text.splitlines()[0], inner[1] if inner else ""


def _key(message: str, place: str, config: dict[str, Any]) -> str:
    """The key that a message names: dotted, or by its last name in the section it is about; else the section."""
    names = [name for name in _NAME.findall(message) if not name.startswith("self.")]
    names.sort(key=lambda name: ("." not in name, "_" not in name))
    for name in names:
        leaf = name.rpartition(".")[2]
        for path in (name, f"{place}.{leaf}", f"actor_rollout_ref.{name}"):
            if "." in path and _is_key(path, config):
                return path
        keys = [f"{s}.{leaf}" for s in (*_SECTIONS, _REF, "data", "critic") if _is_key(f"{s}.{leaf}", config)]
        if "_" in leaf and keys:
            return keys[0]
    return place


def _is_key(path: str, config: dict[str, Any]) -> bool:
    parent, _, leaf = path.rpartition(".")
    section = dig(config, parent)
    return isinstance(section, dict) and leaf in section and not isinstance(section[leaf], dict)


def main() -> None:
    """Read a config, write the diagnostics. verl is imported first: the config is still on its way."""
    with contextlib.redirect_stdout(sys.stderr):
        import verl.trainer.ppo.utils  # noqa: F401

        answers = ask(json.load(sys.stdin))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
