"""The tiny recipe's model and data: the same bytes for a seed, and a policy that can climb and has not yet."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Batch, compile, parse
from rewardkit.data.shapes.math import gsm8k_problem
from trainer_glue.verl import tiny
from trainer_glue.verl.config.recipes import FOLDER
from trainer_glue.verl.config.yaml_file import read_yaml
from trainer_glue.verl.tiny import TinyAssets, make_tiny
from trainer_glue.verl.tiny_corpus import short_answers, word_problems

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pq = pytest.importorskip("pyarrow.parquet")

SEED = 42


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> TinyAssets:
    return make_tiny(tmp_path_factory.mktemp("tiny") / "assets", SEED)


def recipe() -> Mapping[str, Any]:
    return read_yaml(FOLDER / "tiny.yaml").data


def digests(assets: TinyAssets) -> dict[str, str]:
    folder = assets.train.parent
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.parametrize("steps", [10, pytest.param(tiny._WARM_UP_STEPS, marks=pytest.mark.long)])
def test_the_same_seed_gives_the_same_bytes_in_another_process(
    steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from trainer_glue.verl import tiny\n"
        f"tiny._WARM_UP_STEPS = {steps}\n"
        f"tiny.make_tiny(Path(sys.argv[1]), {SEED})\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "again")], check=True, capture_output=True)
    monkeypatch.setattr(tiny, "_WARM_UP_STEPS", steps)
    assert digests(TinyAssets.under(tmp_path / "again")) == digests(make_tiny(tmp_path / "here", SEED))


def test_it_is_a_small_llama_with_the_llama_3_format(assets: TinyAssets) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(assets.model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(assets.model)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert 100_000 < sum(p.numel() for p in model.parameters()) < 900_000
    assert model.config.vocab_size == len(tokenizer), "a policy must not sample what the tokenizer can't decode"
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": " Hi "}], add_generation_prompt=True, tokenize=False
    )
    assert text == (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    assert tokenizer.decode(tokenizer.encode("Ünïcödé 東京 🙂\n"), skip_special_tokens=True) == "Ünïcödé 東京 🙂\n"
    assert model.generation_config.eos_token_id == tokenizer.convert_tokens_to_ids("<|eot_id|>")


def test_the_prompts_fit_the_recipe(assets: TinyAssets) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(assets.model)
    for path in (assets.train, assets.val):
        prompts = pq.read_table(path)["prompt"].to_pylist()
        ids = tokenizer.apply_chat_template(prompts, add_generation_prompt=True, tokenize=True, return_dict=False)
        assert len(ids) == len(prompts) and max(map(len, ids)) <= recipe()["data"]["max_prompt_length"]


def test_the_recipes_row_count_is_the_datas(assets: TinyAssets) -> None:
    assert pq.read_metadata(assets.train).num_rows == tiny.TRAIN_ROWS
    train, val = (
        {r["extra_info"]["question"] for r in pq.read_table(p).to_pylist()} for p in (assets.train, assets.val)
    )
    assert len(train) == tiny.TRAIN_ROWS
    assert not train & val


def test_the_fresh_policy_has_room_to_climb_and_something_to_climb_on(assets: TinyAssets) -> None:
    """Its mean reward is under a quarter of the most there is, and most groups have both better and worse answers."""
    model = transformers.AutoModelForCausalLM.from_pretrained(assets.model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(assets.model, padding_side="left")
    prompts = [r["prompt"] for r in pq.read_table(assets.train).to_pylist()[:16] for _ in range(8)]
    batch = tokenizer.apply_chat_template(
        prompts, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True
    )
    torch.manual_seed(0)
    longest = recipe()["data"]["max_response_length"]
    ids = model.generate(**batch, do_sample=True, max_new_tokens=longest)[:, batch["input_ids"].shape[1] :]
    reward = parse(recipe()["rewardkit"]["reward"])
    total = compile(reward)(Batch(tokenizer.batch_decode(ids, skip_special_tokens=True))).total.reshape(16, 8)
    assert 0.1 < total.mean() < 0.25 * 2.5
    assert (total.std(axis=1) > 0).mean() > 0.8


def test_a_second_call_finds_the_first_ones_files(assets: TinyAssets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny, "_make_model", lambda *_: pytest.fail("made again"))
    assert make_tiny(assets.train.parent, SEED) == assets


def test_a_call_that_dies_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tiny, "_make_model", die)
    with pytest.raises(KeyboardInterrupt):
        make_tiny(tmp_path / "runs" / "assets", SEED)
    assert list((tmp_path / "runs").iterdir()) == []


def test_word_problems_are_right_and_in_gsm8k_form() -> None:
    problems = word_problems(300, SEED)
    assert len({p.extra["question"] for p in problems}) == 300
    assert problems == word_problems(300, SEED)
    assert problems != word_problems(300, SEED + 1)
    for p in problems:
        assert gsm8k_problem(p.extra) == p
        shown = p.extra["answer"].split("<<")[1].split(">>")[0]
        left, right = shown.split("=")
        for sign, do in (("+", int.__add__), ("-", int.__sub__), ("*", int.__mul__), ("/", int.__floordiv__)):
            if sign in left:
                a, b = map(int, left.split(sign))
                assert do(a, b) == int(right) == int(p.ground_truth) >= 0
                break
        else:
            pytest.fail(f"no operation in {json.dumps(shown)}")


def test_most_short_answers_end_without_a_mark() -> None:
    answers = short_answers(500, SEED)
    assert 0.02 < sum(a.endswith(".") for a in answers) / 500 < 0.2
    assert sum(len(a.split()) for a in answers) / 500 < 5
