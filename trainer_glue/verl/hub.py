"""Small files of a model: from its folder, the hub's cache on this machine, or the hub. No weights.

The hub's own client takes a second to import and half a minute to give up without a network; a preflight may not. So
the cache's folders are read as they are documented, and the hub is asked once.
"""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

TIMEOUT: Final = 5.0
"""Seconds to wait for the hub."""
_A_FOLDER: Final = "give the folder of a Hugging Face model"
_HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*")


class NotHad(Exception):
    """A file is not to be had; the message says why, and `fix` what to do."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.fix = fix


class NoSuchFile(NotHad):
    """The model is there, and has no such file."""


def is_hub_id(name: str) -> bool:
    """Whether a model's name is that of a repository of the hub: no folder of this machine, and OWNER/NAME."""
    folder = Path(name).expanduser()
    return not folder.exists() and not folder.parent.is_dir() and _HUB_ID.fullmatch(name) is not None


def model_config(name: str) -> dict[str, Any]:
    """The `config.json` of a model's folder or hub id.

    Raises:
        NotHad: there is none to be had.
    """
    config = _json(name, "config.json")
    if not isinstance(config, dict):
        raise NotHad(f"the config.json of {name} is not a JSON object", _A_FOLDER)
    return config


def brings_chat_template(name: str) -> bool:
    """Whether the tokenizer in a folder or under a hub id has a chat template.

    Raises:
        NotHad: the hub can't be asked.
    """
    for file in ("chat_template.jinja", "chat_template.json"):
        try:
            _read(name, file)
        except NoSuchFile:
            continue
        return True
    try:
        config = _json(name, "tokenizer_config.json")
    except NoSuchFile:
        return False
    return isinstance(config, dict) and bool(config.get("chat_template"))


def _json(name: str, file: str) -> Any:
    text = _read(name, file)
    try:
        return json.loads(text)
    except ValueError as e:
        raise NotHad(f"the {file} of {name} is not JSON: {e}", _A_FOLDER) from None


def _read(name: str, file: str) -> str:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if not is_hub_id(name):
            raise NotHad(f"there is no folder {name}", _A_FOLDER)
        snapshot = _cached(name)
        path = None if snapshot is None else snapshot / file
        if path is None or not path.is_file():
            return _fetch(name, file)  # a cache need not hold every file
    else:
        path = folder / file
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NoSuchFile(f"{name} has no {file}", _A_FOLDER) from None
    except (OSError, UnicodeDecodeError) as e:
        raise NotHad(f"{path} can't be read: {e}", _A_FOLDER) from None


def _cached(name: str) -> Path | None:
    """The folder in the hub's cache with the newest revision of `main` that was downloaded."""
    repository = _cache() / f"models--{name.replace('/', '--')}"
    try:
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    folder = repository / "snapshots" / revision
    return folder if folder.is_dir() else None


def _cache() -> Path:
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()


def _token() -> str | None:
    if token := os.environ.get("HF_TOKEN"):
        return token
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    path = Path(os.environ.get("HF_TOKEN_PATH") or Path(home) / "token").expanduser()
    return path.read_text(encoding="utf-8").strip() if path.is_file() else None


def _fetch(name: str, file: str) -> str:
    fix = f"give the model's folder, or download it first: hf download {name}"
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE"):
        raise NotHad(f"{name} is not in the hub's cache here, and HF_HUB_OFFLINE is set", fix)
    end = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    request = urllib.request.Request(f"{end.rstrip('/')}/{name}/resolve/main/{file}")
    if token := _token():
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            text: str = response.read().decode()
            return text
    except urllib.error.HTTPError as e:
        if e.code in (401, 403):
            fix = f"ask for access on the page of {name}, and set HF_TOKEN"
            raise NotHad(f"the hub does not give {name} to this user (HTTP {e.code})", fix) from None
        if e.code == 404:
            raise NoSuchFile(f"the hub has no {file} of {name}", "check the id") from None
        raise NotHad(f"the hub does not give {name} (HTTP {e.code})", fix) from None
    except (OSError, ValueError) as e:
        reason = getattr(e, "reason", e)
        raise NotHad(f"{name} is not in the hub's cache here, and the hub can't be reached ({reason})", fix) from None
