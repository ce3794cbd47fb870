"""Checks of a model's folder: what the trainer and the rollout would miss minutes later."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from trainer_glue.verl.config.data_files import REMOTE
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.keys import Where

_HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*")
_TOKENIZERS: Final = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model", "vocab.txt")
_WEIGHTS: Final = ("*.safetensors", "*.bin")


def check_model(section: Mapping[str, Any], key: str, where: Where) -> list[ConfigDiagnostic]:
    """Diagnostics on a model section with a `path`, such as `actor_rollout_ref.model`."""
    path = section.get("path")
    if not isinstance(path, str):
        return []
    tokenizer = section.get("tokenizer_path") or path
    diagnostics = list(_check_folder(path, f"{key}.path", where, tokenizer=tokenizer == path, weights=True))
    if tokenizer != path:
        diagnostics += _check_folder(tokenizer, f"{key}.tokenizer_path", where, tokenizer=True, weights=False)
    if (
        not diagnostics
        and not section.get("custom_chat_template")
        and not has_chat_template(Path(tokenizer).expanduser())
    ):
        message = f"the tokenizer in {tokenizer} has no chat template, and verl's prompts are chat messages"
        hint = "set rewardkit.chat_template: llama-3 (or chatml)"
        diagnostics.append(ConfigDiagnostic("no-chat-template", message, where(f"{key}.path"), hint, key=f"{key}.path"))
    return diagnostics


def has_chat_template(folder: Path) -> bool:
    """Whether a tokenizer's folder brings a chat template; true for a hub id, which is not looked into."""
    if not folder.is_dir():
        return True
    if any((folder / name).is_file() for name in ("chat_template.jinja", "chat_template.json")):
        return True
    config = folder / "tokenizer_config.json"
    return config.is_file() and bool(json.loads(config.read_text(encoding="utf-8")).get("chat_template"))


def _check_folder(name: str, key: str, where: Where, *, tokenizer: bool, weights: bool) -> Iterator[ConfigDiagnostic]:
    folder = Path(name).expanduser()
    if name.startswith(REMOTE):
        yield ConfigDiagnostic("not-checked", f"{name} is remote: it was not checked", where(key), key=key)
    elif folder.is_dir():
        for code, message, hint in _missing(folder, tokenizer=tokenizer, weights=weights):
            yield ConfigDiagnostic(code, f"{folder} {message}", where(key), hint, key=key)
    elif _HUB_ID.fullmatch(name) and not folder.parent.is_dir():
        message = f"{name} is not a folder on this machine: it is taken for a hub id and not checked"
        yield ConfigDiagnostic("not-checked", message, where(key), key=key)
    elif folder.is_file():
        hint = "convert it to a Hugging Face folder first"
        yield ConfigDiagnostic(
            "missing-model", f"{folder} is a file; expected a model's folder", where(key), hint, key=key
        )
    elif not where(key):
        message = f"is not set, and verl's default {name} does not exist"
        yield ConfigDiagnostic("required", message, hint="a folder of a causal language model, or a hub id", key=key)
    else:
        hint = (
            "a folder with config.json, tokenizer and weights, or a hub id such as meta-llama/Meta-Llama-3-8B-Instruct"
        )
        yield ConfigDiagnostic("missing-model", f"no folder {folder}", where(key), hint, key=key)


def _missing(folder: Path, *, tokenizer: bool, weights: bool) -> Iterator[tuple[str, str, str | None]]:
    if weights:
        config = folder / "config.json"
        if not config.is_file():
            inside = sorted(p.name for p in folder.iterdir() if p.is_dir() and (p / "config.json").is_file())
            hint = f"{folder / inside[0]} has one" if inside else "expected a Hugging Face model's folder"
            yield "no-model-config", "has no config.json", hint
        else:
            try:
                json.loads(config.read_text(encoding="utf-8"))
            except ValueError as e:
                yield "no-model-config", f"has a config.json that is not JSON: {e}", None
        if not any(p for pattern in _WEIGHTS for p in folder.glob(pattern)):
            yield "no-weights", "has no weights (*.safetensors, *.bin)", "a checkpoint of verl's is converted first"
    if tokenizer and not any((folder / name).is_file() for name in _TOKENIZERS):
        hint = "save it there with tokenizer.save_pretrained(...), or set tokenizer_path beside path"
        yield "no-tokenizer", f"has no tokenizer ({', '.join(_TOKENIZERS[:2])}, ...)", hint
