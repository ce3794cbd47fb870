"""Model folders that would fail minutes later."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.model_folder import check_model


def check(path: object, **more: object) -> list[ConfigDiagnostic]:
    return check_model({"path": path, **more}, "model", lambda key: f"config.yaml: {key}")


def test_a_whole_folder(model: Path) -> None:
    assert check(str(model)) == []


@pytest.mark.parametrize(
    ("gone", "code", "says"),
    [
        ("config.json", "no-model-config", "has no config.json"),
        ("tokenizer.json", "no-tokenizer", "has no tokenizer (tokenizer.json, tokenizer.model, ...)"),
        ("model.safetensors", "no-weights", "has no weights"),
        ("chat_template.jinja", "no-chat-template", "has no chat template"),
    ],
)
def test_a_file_that_is_missing(gone: str, code: str, says: str, model: Path) -> None:
    (model / gone).unlink()
    (diagnostic,) = check(str(model))
    assert (diagnostic.code, diagnostic.key, diagnostic.severity) == (code, "model.path", "error")
    assert says in diagnostic.message


def test_an_empty_folder_lacks_all_of_it(tmp_path: Path) -> None:
    assert [f.code for f in check(str(tmp_path))] == ["no-model-config", "no-weights", "no-tokenizer"]


def test_a_config_that_is_no_json(model: Path) -> None:
    (model / "config.json").write_text("{")
    assert "not JSON" in check(str(model))[0].message


def test_a_folder_around_the_model_says_where_it_is(model: Path) -> None:
    diagnostics = check(str(model.parent))
    assert diagnostics[0].hint == f"{model} has one"


def test_a_template_of_the_configs_own_will_do(model: Path) -> None:
    (model / "chat_template.jinja").unlink()
    assert check(str(model), custom_chat_template="{{ messages }}") == []
    (model / "tokenizer_config.json").write_text('{"chat_template": "{{ messages }}"}')
    assert check(str(model)) == []


def test_a_tokenizer_elsewhere(model: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("config.json", "model.safetensors"):
        (model / name).rename(bare / name)
    assert check(str(bare), tokenizer_path=str(model)) == []
    (diagnostic, *_) = check(str(bare), tokenizer_path=str(tmp_path / "none"))
    assert (diagnostic.code, diagnostic.key) == ("missing-model", "model.tokenizer_path")


@pytest.mark.parametrize("name", ["meta-llama/Meta-Llama-3-8B-Instruct", "hdfs://models/llama"])
def test_what_is_elsewhere_is_not_checked(name: str) -> None:
    (diagnostic,) = check(name)
    assert (diagnostic.code, diagnostic.severity) == ("not-checked", "warning")


def test_a_file_is_no_model(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.touch()
    (diagnostic,) = check(str(file))
    assert "is a file; expected a model's folder" in diagnostic.message
