"""A model's small files from a folder, the hub's cache, and a hub that answers or does not."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from trainer_glue.verl import hub
from trainer_glue.verl.hub import NotHad, brings_chat_template, is_hub_id, model_config


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HF_HOME", "HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    return tmp_path / "hub"


def answers(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[urllib.request.Request]:
    """The hub answers every request by this text, or by this error."""
    asked: list[urllib.request.Request] = []

    def urlopen(request: urllib.request.Request, timeout: float) -> io.BytesIO:
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return io.BytesIO(answer.encode())

    monkeypatch.setattr(hub.urllib.request, "urlopen", urlopen)
    return asked


def status(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("", code, "", {}, None)  # type: ignore[arg-type]


def test_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert model_config(str(tmp_path)) == {"model_type": "llama"}
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(NotHad, match="not a JSON object"):
        model_config(str(tmp_path))


def test_the_cache_is_read_before_the_hub_is_asked(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answers(monkeypatch, status(500))
    repository = cache / "models--meta--llama"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    (repository / "snapshots" / "abc").mkdir(parents=True)
    (repository / "snapshots" / "abc" / "config.json").write_text('{"model_type": "llama"}')
    assert model_config("meta/llama") == {"model_type": "llama"}
    assert asked == []


def test_the_hub_is_asked_once_with_the_users_token(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "mine")
    asked = answers(monkeypatch, '{"model_type": "llama"}')
    assert model_config("meta/llama")["model_type"] == "llama"
    (request,) = asked
    assert request.full_url == "https://huggingface.co/meta/llama/resolve/main/config.json"
    assert request.unredirected_hdrs == {"Authorization": "Bearer mine"}


@pytest.mark.parametrize(
    ("answer", "says", "fix"),
    [
        (status(401), "does not give meta/llama to this user", "set HF_TOKEN"),
        (status(404), "has no config.json of meta/llama", "check the id"),
        (status(503), "HTTP 503", "download it first"),
        (urllib.error.URLError("no route"), "can't be reached (no route)", "hf download meta/llama"),
        (TimeoutError("timed out"), "can't be reached (timed out)", "download"),
    ],
)
def test_why_there_is_no_config(
    cache: Path, monkeypatch: pytest.MonkeyPatch, answer: Exception, says: str, fix: str
) -> None:
    answers(monkeypatch, answer)
    with pytest.raises(NotHad) as caught:
        model_config("meta/llama")
    assert says in str(caught.value) and fix in caught.value.fix


def test_offline_asks_nobody(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answers(monkeypatch, "{}")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NotHad, match="HF_HUB_OFFLINE is set"):
        model_config("meta/llama")
    assert asked == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [("meta/llama", True), ("/models/llama", False), ("~/llama", False), ("llama", False), ("a/b/c", False)],
)
def test_a_hub_id_is_no_path(name: str, expected: bool) -> None:
    assert is_hub_id(name) == expected
    if not expected:
        with pytest.raises(NotHad, match="there is no folder"):
            model_config(name)


def test_where_a_chat_template_stands(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    assert not brings_chat_template(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": None}))
    assert not brings_chat_template(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    assert brings_chat_template(str(folder))
    (folder / "tokenizer_config.json").unlink()
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    assert brings_chat_template(str(folder))
    answers(monkeypatch, status(404))
    assert not brings_chat_template("meta/llama")
    answers(monkeypatch, urllib.error.URLError("no route"))
    with pytest.raises(NotHad):
        brings_chat_template("meta/llama")
