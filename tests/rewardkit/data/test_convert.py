"""Sources to verl's parquet: what is written, what is refused, and that nothing half-written stays."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rewardkit.data.convert import convert
from rewardkit.errors import DataError, MissingDependencyError

pq = pytest.importorskip("pyarrow.parquet")

GOOD = {"question": "Ann has 2 pens and buys 3. How many?", "answer": "2 + 3 = <<2+3=5>>5\n#### 5"}
ASK = 'Let\'s think step by step and output the final answer after "####".'


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in rows))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_a_row_has_what_verl_reads(tmp_path: Path) -> None:
    written = convert(str(lines(tmp_path / "mine.jsonl", GOOD)), tmp_path / "out")
    assert written.files == {tmp_path / "out" / "train.parquet": 1}
    assert read(tmp_path / "out" / "train.parquet") == [
        {
            "data_source": "openai/gsm8k",
            "prompt": [
                {
                    "role": "user",
                    "content": f"{GOOD['question']} {ASK}",
                }
            ],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": "5"},
            "extra_info": {"split": "train", "index": 0, **GOOD},
        }
    ]


@pytest.mark.parametrize(
    ("name", "split", "file"),
    [("train.jsonl", None, "train"), ("gsm8k_test.jsonl", None, "test"), ("gsm8k_test.jsonl", "train", "train")],
)
def test_a_file_is_the_split_that_its_name_or_the_user_says(
    name: str, split: str | None, file: str, tmp_path: Path
) -> None:
    convert(str(lines(tmp_path / name, GOOD)), tmp_path / "out", split=split)
    assert [p.name for p in (tmp_path / "out").iterdir()] == [f"{file}.parquet"]


def test_every_bad_row_is_named_by_file_and_line_and_nothing_is_written(tmp_path: Path) -> None:
    source = lines(
        tmp_path / "mine.jsonl",
        GOOD,
        "{not json}\n",
        "\n",
        {"question": "no answer"},
        GOOD,
        {"question": "?", "answer": "no marker"},
    )
    with pytest.raises(DataError) as raised:
        convert(str(source), tmp_path / "out")
    message = str(raised.value)
    assert "3 of 5 rows are not usable; nothing was written" in message
    for line, why in ((2, "is not JSON"), (4, "has no `answer`"), (6, "no `####`")):
        assert f"{source}:{line}: " in message
        assert why in message
    assert not (tmp_path / "out").exists()


def test_of_many_bad_rows_the_first_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    source = lines(tmp_path / "mine.jsonl", *({"question": str(i)} for i in range(50)))
    with pytest.raises(DataError) as raised:
        convert(str(source), tmp_path / "out")
    assert str(raised.value).count(f"{source}:") == 20
    assert "and 30 more" in str(raised.value)


def test_bytes_that_are_no_text_are_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b'{"question": "\xff", "answer": "#### 1"}\n')
    with pytest.raises(DataError, match=r"mine\.jsonl:1: is not UTF-8: byte 14 is 0xff"):
        convert(str(path), tmp_path / "out")


def test_a_json_array_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([GOOD], indent=1))
    assert convert(str(path), tmp_path / "out").files == {tmp_path / "out" / "train.parquet": 1}


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\n")
    assert convert(str(path), tmp_path / "out").files


def test_a_limit_stops_reading(tmp_path: Path) -> None:
    source = lines(tmp_path / "mine.jsonl", GOOD, GOOD, "{not reached}\n")
    assert list(convert(str(source), tmp_path / "out", limit=2).files.values()) == [2]


def test_two_ground_truths_for_one_question_are_noted(tmp_path: Path) -> None:
    source = lines(tmp_path / "mine.jsonl", GOOD, {**GOOD, "answer": "#### 6"}, GOOD)
    notes = convert(str(source), tmp_path / "out").notes
    assert notes == (f"{source}:2 asks the same as {source}:1, with the ground truth 6 instead of 5",)


def test_a_write_that_fails_leaves_the_old_files_and_no_partial_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    convert(str(lines(tmp_path / "old.jsonl", GOOD)), out)
    before = (out / "train.parquet").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(DataError, match="No space left"):
        convert(str(lines(tmp_path / "new.jsonl", GOOD, GOOD)), out)
    assert [p.name for p in out.iterdir()] == ["train.parquet"]
    assert (out / "train.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("nowhere.jsonl", "no file nowhere.jsonl"),
        ("nothing", "is not a file, a hub id or a reasoning-gym data set"),
        ("{tmp}", "is a folder"),
        ("{tmp}/empty.jsonl", "has no rows"),
    ],
)
def test_a_source_that_is_none(source: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(DataError) as raised:
        convert(source.replace("{tmp}", str(tmp_path)), tmp_path / "out")
    assert says in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_out_that_is_a_file(tmp_path: Path) -> None:
    source = lines(tmp_path / "mine.jsonl", GOOD)
    with pytest.raises(DataError, match="is a file; expected a folder"):
        convert(str(source), source)


class FakeHub(ModuleType):
    """`datasets` as far as it is used here, with one data set or out of reach."""

    def __init__(self, splits: dict[str, list[dict[str, str]]] | None) -> None:
        super().__init__("datasets")
        self.splits = splits

    def get_dataset_config_names(self, name: str) -> list[str]:
        if self.splits is None:
            raise ConnectionError(f"Couldn't reach {name!r}\nsee the log")
        return ["socratic", "main"]

    def load_dataset(self, name: str, config: str) -> dict[str, list[dict[str, str]]]:
        assert (name, config) == ("openai/gsm8k", "main")
        assert self.splits is not None
        return self.splits


def test_a_hub_data_set_gives_its_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = FakeHub({"train": [GOOD, GOOD], "test": [GOOD], "extra": [GOOD]})
    monkeypatch.setitem(sys.modules, "datasets", hub)
    written = convert("openai/gsm8k", tmp_path / "out")
    assert {p.name: n for p, n in written.files.items()} == {"train.parquet": 2, "test.parquet": 1}
    assert {p.name for p in convert("openai/gsm8k", tmp_path / "one", split="extra").files} == {"extra.parquet"}
    with pytest.raises(DataError, match="no split 'dev'; it has train, test, extra"):
        convert("openai/gsm8k", tmp_path / "none", split="dev")


def test_a_hub_out_of_reach_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", FakeHub(None))
    with pytest.raises(DataError) as raised:
        convert("openai/gsm8k", tmp_path / "out")
    message = str(raised.value)
    assert "ConnectionError: Couldn't reach 'openai/gsm8k'" in message
    assert "see the log" not in message
    assert "offline, give a file" in message


@pytest.mark.parametrize(
    ("module", "source", "says"),
    [
        ("datasets", "openai/gsm8k", "datasets"),
        ("reasoning_gym", "reasoning-gym:chain_sum", "reasoning-gym"),
        ("pyarrow", "{file}", "pyarrow"),
    ],
)
def test_a_package_that_is_missing_is_named(
    module: str, source: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=f"{says}.*not installed"):
        convert(source.replace("{file}", str(lines(tmp_path / "a.jsonl", GOOD))), tmp_path / "out")


def test_procedural_problems(tmp_path: Path) -> None:
    pytest.importorskip("reasoning_gym")
    written = convert("reasoning-gym:chain_sum", tmp_path / "out", limit=30)
    assert written.files[tmp_path / "out" / "train.parquet"] == 30
    train, test = (read(tmp_path / "out" / f"{split}.parquet") for split in ("train", "test"))
    assert train[0]["data_source"] == "reasoning_gym/chain_sum"
    assert all(float(r["reward_model"]["ground_truth"]) is not None for r in train)
    asked = {r["extra_info"]["question"] for r in train}
    assert test and not asked & {r["extra_info"]["question"] for r in test}
    assert "source_dataset" in json.loads(train[0]["extra_info"]["metadata"])


def test_an_unknown_procedural_set(tmp_path: Path) -> None:
    pytest.importorskip("reasoning_gym")
    with pytest.raises(DataError, match="did you mean 'chain_sum'"):
        convert("reasoning-gym:chainsum", tmp_path / "out")


def test_the_public_test_file(shared_data: Path, tmp_path: Path) -> None:
    written = convert(str(shared_data / "gsm8k_test.jsonl"), tmp_path / "out")
    assert written.files == {tmp_path / "out" / "test.parquet": 1319}
    assert written.notes == ()
    ground_truths = [r["reward_model"]["ground_truth"] for r in read(tmp_path / "out" / "test.parquet")]
    assert all("," not in g for g in ground_truths)
