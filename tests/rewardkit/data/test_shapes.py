"""Rows of known data sets as they come, what is written of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run
from rewardkit.data.convert import convert
from rewardkit.data.shapes import SHAPES
from rewardkit.errors import BadRow, DataError

pq = pytest.importorskip("pyarrow.parquet")
USER = {"role": "user", "content": "Say hi."}
MATH = {"problem": "1 + 1?", "solution": r"It is $\boxed{2}$, or rather $\boxed{\frac{4}{2}}$.", "level": "Level 1"}
DAPO = {"data_source": "math_dapo", "prompt": [USER], "reward_model": {"ground_truth": "34", "style": "rule"}}
NUMINA = {**MATH, "answer": "2", "problem_is_valid": "Yes", "question_type": "math-word-problem"}
IFEVAL = {"prompt": "Hi", "instruction_id_list": ["a:b"], "kwargs": [{"n": 3, "m": None}]}
CALL = {"f": {"x": [1]}}
BFCL = {"id": "simple_0", "question": [[USER]], "function": [{"name": "f"}], "ground_truth": [CALL]}
COUNTDOWN = {"nums": [1, 2, 3], "target": 6}


@pytest.mark.parametrize(
    ("name", "row", "ground_truth"),
    [
        ("gsm8k", {"question": "?", "answer": "#### 1,000"}, "1000"),
        ("math", MATH, r"\frac{4}{2}"),
        ("math", {"problem": "?", "answer": "x^2"}, "x^2"),
        ("math", {"problem": "?", "solution": r"\fbox {7}"}, "7"),
        ("dapo-math-17k", DAPO, "34"),
        ("dapo-math-17k", {**DAPO, "reward_model": json.dumps(DAPO["reward_model"])}, "34"),
        ("numina", NUMINA, "2"),
        ("ifeval", IFEVAL, '{"instruction_id_list": ["a:b"], "kwargs": [{"n": 3}]}'),
        ("ifeval", {"messages": [USER], "ground_truth": '{"func_name": "x"}'}, '{"func_name": "x"}'),
        ("bfcl", BFCL, json.dumps([CALL])),
        ("countdown", COUNTDOWN, '{"numbers": [1, 2, 3], "target": 6}'),
    ],
)
def test_a_row_and_its_ground_truth(name: str, row: dict[str, Any], ground_truth: str) -> None:
    problem = SHAPES[name].problem(row)
    assert problem.ground_truth == ground_truth
    assert problem.prompt[-1]["role"] == "user"


@pytest.mark.parametrize(
    ("name", "row", "says"),
    [
        ("math", {"problem": "?", "solution": "No box."}, r"no answer in \boxed{...}"),
        ("math", {"problem": "?", "solution": r"\boxed{1"}, r"no answer in \boxed{...}"),
        ("numina", {**NUMINA, "answer": "proof"}, "no answer to compare with"),
        ("numina", {**NUMINA, "problem_is_valid": "Incomplete"}, "`problem_is_valid` is 'Incomplete'"),
        ("dapo-math-17k", {**DAPO, "prompt": []}, "expected text or chat messages"),
        ("dapo-math-17k", {**DAPO, "prompt": [USER, {"role": "assistant", "content": "34"}]}, "ends in the assistant"),
        ("ifeval", {**IFEVAL, "kwargs": []}, "expected lists of one length"),
        ("bfcl", {**BFCL, "question": [[USER], [USER]]}, "has 2 turns; expected one"),
        ("bfcl", {k: v for k, v in BFCL.items() if k != "ground_truth"}, "--answers FILE"),
        ("countdown", {"nums": ["1"], "target": 1}, "expected a list of whole numbers"),
        ("countdown", {"nums": [1], "target": 1.5}, "`target` is 1.5"),
        *((name, [], "expected an object") for name in SHAPES),
        *((name, {}, "has no `") for name in SHAPES),
    ],
)
def test_a_row_that_is_not_usable(name: str, row: object, says: str) -> None:
    with pytest.raises(BadRow) as raised:
        SHAPES[name].problem(row)
    assert says in str(raised.value)


def _lines(path: Path, *rows: object) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def _read(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / "train.parquet").to_pylist()
    return rows


def test_a_problem_that_the_file_has_often_is_written_once(tmp_path: Path) -> None:
    other = {**DAPO, "prompt": [{"role": "user", "content": "?"}]}
    source = _lines(tmp_path / "a.jsonl", DAPO, other, DAPO, DAPO)
    written = convert(source, tmp_path / "out", shape=SHAPES["dapo-math-17k"])
    assert [row["prompt"] for row in _read(tmp_path / "out")] == [DAPO["prompt"], other["prompt"]]
    assert written.notes == ("2 of 4 rows repeat others and are left out",)


def test_ground_truths_that_the_shapes_formula_can_not_grade_are_refused_or_left_out(tmp_path: Path) -> None:
    source = _lines(tmp_path / "a.jsonl", NUMINA, {**NUMINA, "answer": r"\frac{1}{2"})
    with pytest.raises(DataError, match=r"(?s)a\.jsonl:2: math_equal: .*--on-bad-row skip"):
        convert(source, tmp_path / "out", shape=SHAPES["numina"])
    assert not (tmp_path / "out").exists()
    written = convert(source, tmp_path / "out", shape=SHAPES["numina"], skip_bad=True)
    assert len(_read(tmp_path / "out")) == 1
    assert "1 of 2 rows are not usable and left out" in written.notes[0]


def test_accepted_answers_from_a_file_of_their_own(tmp_path: Path) -> None:
    rows = [{k: v for k, v in {**BFCL, "id": i}.items() if k != "ground_truth"} for i in ("simple_0", "irrelevance_1")]
    source = _lines(tmp_path / "rows.json", *rows)
    answers = _lines(tmp_path / "answers.json", {"id": "simple_0", "ground_truth": [CALL]})
    out = tmp_path / "out"
    assert run(["data", "bfcl", "--from", source, "--answers", answers, "--split", "train", "--out", str(out)]) == 0
    assert [json.loads(row["reward_model"]["ground_truth"]) for row in _read(out)] == [[CALL], []]
    assert '"name": "f"' in _read(out)[0]["prompt"][0]["content"]


def test_columns_by_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = _lines(
        tmp_path / "qa.jsonl",
        {"q": "Where? {x}", "meta": {"truth": 7}, "level": 3},
        {"q": [USER], "meta": {"truth": ["a", "b"]}, "level": 4},
    )
    arguments = ["data", "from", source, "--prompt", "q", "--ground-truth", "meta.truth", "--extra", "level"]
    arguments += [
        "--template",
        r"{prompt} Answer in \boxed{}.",
        "--system",
        "Be brief.",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run(arguments) == 0
    first, second = _read(tmp_path / "out")
    assert first["prompt"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": r"Where? {x} Answer in \boxed{}."},
    ]
    assert first["data_source"] == "qa"
    assert [row["reward_model"]["ground_truth"] for row in (first, second)] == ["7", '["a", "b"]']
    assert [row["extra_info"] for row in (first, second)] == [
        {"split": "train", "index": 0, "level": 3},
        {"split": "train", "index": 1, "level": 4},
    ]
    capsys.readouterr()
    assert run([*arguments, "--reward", "gsm8k()"]) == 2
    assert "qa.jsonl:2: gsm8k: unusable ground truth" in capsys.readouterr().err
    assert run(["data", "from", source, "--out", str(tmp_path / "none")]) == 2
    assert "has no `prompt`; its fields are `q`, `meta`, `level`" in capsys.readouterr().err
    assert run(["data", "from", source, "--template", "Answer.", "--out", str(tmp_path / "none")]) == 2
    assert "--template has no {prompt}" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*rows: object) -> dict[str, str]:
        source = _lines(tmp_path / "rows.jsonl", *rows)
        code = run(["data", "check", source, "--reward", "gsm8k()", "--json"])
        said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert code == any(d["severity"] == "error" for d in said)
        return {d["code"]: d["message"] for d in said}

    good = {"prompt": [USER], "reward_model": {"ground_truth": "1"}}
    other = {**good, "prompt": "What?"}
    assert told(good, other) == {}
    assert told(good, other, good) == {
        "repeated-row": "1 of 3 rows repeat an earlier row, prompt and ground truth; "
        f"the first is {tmp_path}/rows.jsonl:3"
    }
    assert set(told(good, {**good, "reward_model": {"ground_truth": "2"}})) == {"two-ground-truths"}
    assert set(told({**good, "prompt": None}, {**good, "prompt": ""})) == {"no-prompts"}
    assert told({**good, "prompt": None}, good) == {}
    assert "reward-model-text" in told({**good, "reward_model": json.dumps(good["reward_model"])})


def test_reward_model_as_text_in_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"prompt": ["a"], "reward_model": ['{"ground_truth": "1"}']})
    pq.write_table(table, tmp_path / "a.parquet")
    assert run(["data", "check", str(tmp_path / "a.parquet"), "--reward", "gsm8k()"]) == 1
    assert "1 of 1 rows hold `reward_model` as text" in capsys.readouterr().out


def test_help_knows_every_shape_without_importing_it() -> None:
    from rewardkit.data.known import KNOWN

    assert list(KNOWN) == list(SHAPES)
