"""A named chat template through verl: trainer, rollout, length filter and saved checkpoint see the same prompt."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl", reason="verl is not installed")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.verl

from tests.trainer_glue.verl.cpu.models import tiny_config
from tests.trainer_glue.verl.tokenizers import byte_tokenizer
from trainer_glue.verl.config import Resolved, resolve

TALK = [{"role": "system", "content": "Be brief. "}, {"role": "user", "content": "\nTwo plus two?\n"}]
METAS = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nTwo plus two?<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n"
)
"""What Meta's template makes of it: the begin-of-text token once, content without outer blanks."""


@pytest.fixture(params=["a tokenizer trained here", "Llama-3's own"])
def base_model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a base model: no chat template."""
    folder = tmp_path / "model"
    if request.param == "Llama-3's own":
        source = request.getfixturevalue("shared_data") / "llama3_tokenizer"
        folder.mkdir()
        for name in ("tokenizer.json", "special_tokens_map.json"):
            shutil.copy(source / name, folder)
        settings = json.loads((source / "tokenizer_config.json").read_text())
        settings.pop("chat_template")
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    else:
        byte_tokenizer().save_pretrained(folder)
    tiny_config().save_pretrained(folder)
    (folder / "model.safetensors").write_bytes(b"")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"prompt": TALK, "data_source": "mine"}] * 8), path)
    return path


def resolved(model: Path, data: Path, *overrides: str) -> Resolved:
    files = (f"model.path={model}", f"data.train_files={data}", f"data.val_files={data}")
    return resolve("small", [*files, "rewardkit.chat_template=llama-3", *overrides], reward="length(0.1, cap=1)")


def model_config(config_: Resolved) -> Any:
    """The model's config as verl's workers build it, tokenizer and all."""
    from verl.utils.config import omega_conf_to_dataclass

    return omega_conf_to_dataclass(config_.unfilled().actor_rollout_ref.model)


def ids(tokenizer: Any, text: str) -> list[int]:
    token_ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return token_ids


def test_trainer_rollout_filter_and_checkpoint_agree(base_model: Path, data: Path, tmp_path: Path) -> None:
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    config_ = resolved(base_model, data)
    tokenizer = model_config(config_).tokenizer
    text = tokenizer.apply_chat_template(TALK, tokenize=False, add_generation_prompt=True)
    assert text.encode() == METAS.encode()
    expected = ids(tokenizer, METAS)
    assert expected.count(tokenizer.bos_token_id) == 1 and expected[0] == tokenizer.bos_token_id

    rollout = create_continuous_token_builder(tokenizer, hf_model_type="llama", chat_template_kwargs={})
    assert list(rollout.build_initial_tokens(TALK)) == expected

    tokenizer.save_pretrained(tmp_path / "checkpoint")
    saved = AutoTokenizer.from_pretrained(tmp_path / "checkpoint")
    assert saved.apply_chat_template(TALK, tokenize=False, add_generation_prompt=True) == METAS

    kept = {}
    for limit in (len(expected), len(expected) - 1):
        config = OmegaConf.create({**config_.config["data"], "max_prompt_length": limit, "cache_dir": str(tmp_path)})
        kept[limit] = len(RLHFDataset(str(data), tokenizer, config))
    assert list(kept.values()) == [8, 0], "the filter counts the tokens that the rollout sends"


def test_an_instruct_model_keeps_its_own(base_model: Path, data: Path) -> None:
    own = "{% for m in messages %}[{{ m['content'] }}]{% endfor %}"
    (base_model / "chat_template.jinja").write_text(own)
    config_ = resolved(base_model, data)
    assert [f.code for f in config_.diagnostics if f.code == "own-template"] == ["own-template"]
    tokenizer = model_config(config_).tokenizer
    assert tokenizer.apply_chat_template(TALK, tokenize=False) == "[Be brief. ][\nTwo plus two?\n]"
