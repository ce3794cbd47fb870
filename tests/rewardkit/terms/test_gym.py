"""reasoning-gym's scores from a worker: the same as its own, and no text of a model is executed there."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Batch, Status, compile, parse
from rewardkit.errors import ParameterError
from rewardkit.terms.puzzles.gym import literal

with contextlib.redirect_stdout(io.StringIO()):
    gym = pytest.importorskip("reasoning_gym", reason="needs the extra reasoning-gym")
    from reasoning_gym.factory import DATASETS

OFTEN = [
    "basic_arithmetic", "binary_matrix", "countdown", "knights_knaves", "number_sorting", "puzzle24",
    "polynomial_multiplication", "simple_integration", "spiral_matrix", "string_insertion", "zebra_puzzles",
]  # fmt: skip
NO_ANSWERS = {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
SLOW = {"composite", "futoshiki"}  # needs data sets of its own; takes seconds to make an entry


def entries(name: str, n: int) -> list[dict[str, Any]]:
    with contextlib.redirect_stdout(io.StringIO()):
        made = gym.create_dataset(name, seed=42, size=n)
        return [made[i] for i in range(n)]


def check(name: str, n: int) -> None:
    made = gym.create_dataset(name, seed=1, size=1)
    rows = [
        (answer, entry)
        for entry in entries(name, n)
        for answer in (str(entry["answer"]), f"{entry['answer']} 7", "[1, 2]", "x", "no idea")
    ]
    expected = []
    for answer, entry in rows:
        try:
            expected.append(float(made.score_answer(answer, entry)))
        except Exception:  # some of its scores raise for what they can't read
            expected.append(0.0)
    scores = compile(f"reasoning_gym({name!r}, cpu_seconds=30)")(
        Batch([f"<think>7</think><answer>{a}</answer>" for a, _ in rows], ground_truths=[e for _, e in rows])
    )
    assert scores.total.tolist() == pytest.approx(expected), scores.first_reason()
    assert max(expected) == 1


@pytest.mark.parametrize("name", OFTEN)
def test_values_are_those_of_its_own_score_answer(name: str) -> None:
    check(name, 3)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(DATASETS) - NO_ANSWERS - SLOW))
def test_values_of_every_data_set(name: str) -> None:
    check(name, 20)


@pytest.mark.parametrize("name", ["string_insertion", "n_queens", "countdown", "puzzle24", "simple_integration"])
def test_no_answer_is_executed(name: str, tmp_path: Path) -> None:
    file = tmp_path / "written"
    texts = [
        f"__import__('pathlib').Path({str(file)!r}).touch()",
        f"[open({str(file)!r}, 'w')]",
        f"eval(chr(111)+{''.join(f'chr({ord(c)})+' for c in str(file))}chr(32))",
        "(lambda: [].append)()",
    ]
    (entry,) = entries(name, 1)
    scores = compile(f"reasoning_gym({name!r})")(Batch(texts, ground_truths=[entry] * len(texts)))
    assert not scores.unscored.any(), scores.first_reason()
    assert (scores.total < 0.2).all()
    assert not file.exists()


def test_hostile_answers_are_bounded() -> None:
    (entry,) = entries("countdown", 1)
    texts = [
        "9**9**9**9",
        "9^" * 5000 + "9",
        "(" * 19_000,
        "1" * 19_000,
        "9" * 30_000,
        "",
        "<think>so",
        "1+" * 9_000 + "1",
    ]
    scores = compile("reasoning_gym('countdown', cpu_seconds=1)")(Batch(texts, ground_truths=[entry] * len(texts)))
    statuses = [Status(int(s)) for s in scores.status]
    assert not scores.unscored.any(), scores.first_reason()
    assert statuses[4:7] == [Status.LIMIT, Status.NO_ANSWER, Status.NO_ANSWER]
    assert (scores.total <= 0.05).all()


def test_an_entry_in_each_shape() -> None:
    (entry,) = entries("countdown", 1)
    program, response = compile("reasoning_gym('countdown')"), f"<answer>{entry['answer']}</answer>"
    metadata = json.dumps(entry["metadata"])
    for truth, info in (
        (entry, {}),
        (json.dumps(entry), {}),
        ({**entry, "metadata": metadata}, {}),
        (entry["answer"], {"metadata": metadata}),
        (entry["answer"], {"metadata": entry["metadata"]}),
    ):
        scores = program(Batch([response], ground_truths=[truth], extra_infos=[info]))
        assert scores.total[0] == 1, (truth, scores.first_reason())
    for bad in (entry["answer"], {"answer": "4"}, {**entry, "metadata": {}}, "{", 4, []):
        scores = program(Batch([response], ground_truths=[bad]))
        if isinstance(bad, dict) and "metadata" in bad:
            assert scores.total[0] <= 0.05  # its own code takes the failure for a wrong answer
        else:
            assert Status(int(scores.status[0])) is Status.BAD_GOLD, bad


def test_an_unknown_data_set_is_refused_when_the_node_is_built() -> None:
    with pytest.raises(ParameterError, match="did you mean 'countdown'"):
        parse("reasoning_gym('countdwn')")


@pytest.mark.parametrize(
    "text", ["f()", "a", "2**9", "[x for x in 'a']", "().__class__", "lambda: 1", "f'{1}'", "1 if 1 else 2"]
)
def test_only_literals_and_arithmetic_have_a_value(text: str) -> None:
    assert literal("[(1, 'a'), {-2}, 0x10 >> 2]") == [(1, "a"), {-2}, 4]
    with pytest.raises(ValueError, match="neither"):
        literal(text)
