"""`rewardkit explain` as a user runs it."""

from __future__ import annotations

import json
import re

import pytest

from rewardkit import compile
from rewardkit.cli import run

MINE = '''"""A user's reward."""
from rewardkit import Sample, gsm8k, term

@term(bounds=(0, 1))
def polite(sample: Sample) -> float:
    """1 where it says please."""
    return float("please" in sample.response)

reward = gsm8k() + 0.1 * polite()
other = polite()
'''


def explained(capsys, *arguments: str):
    assert run(["explain", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_tree_shows_kind_bounds_and_polarity_of_every_node(rewardkit):
    done = rewardkit("explain", "2 - when(gsm8k(), 1 + 0.2 * length(0.1, cap=1).named('len'), 0)")
    assert done.returncode == 0 and not done.stderr and "\x1b" not in done.stdout
    assert done.stdout.split("\n\n")[0].splitlines() == [
        "+  Reward [0.8, 2] ↑",
        "├── 2",
        "└── -  Reward [-1.2, 0] ↑",
        "    └── when(condition, then, otherwise)  Reward [0, 1.2] ↓",
        "        ├── gsm8k()  Verdict [0, 1] ↓ cheap as 'gsm8k'",
        "        ├── +  Reward [1, 1.2] ↓",
        "        │   ├── 1",
        "        │   └── *  Reward [0, 0.2] ↓",
        "        │       ├── 0.2",
        "        │       └── .named('len')  Reward [0, 1] ↓",
        "        │           └── length(0.1, cap=1)  Reward [0, 1] ↓ cheap as 'len'",
        "        └── 0",
    ]
    facts = dict(re.findall(r"^(\w+(?: as)?) +(.+)$", done.stdout.split("\n\n")[1], re.MULTILINE))
    assert facts["bounds"] == "[0.8, 2]" and facts["needs"] == "ground_truth, response"
    assert facts["logged as"] == "gsm8k, len" and facts["cost"] == "cheap"
    assert facts["fingerprint"].startswith("rk1-")


def test_json_is_the_same_tree(capsys):
    explanation = explained(capsys, "1 - gsm8k()")
    assert (explanation["kind"], explanation["bounds"], explanation["names"]) == ("Reward", [0, 1], ["gsm8k"])
    minus = explanation["tree"]["operands"][1]
    assert (minus["op"], minus["polarity"]) == ("neg", "rises")
    assert minus["operands"][0]["polarity"] == "falls"
    assert minus["operands"][0]["needs"] == ["ground_truth", "response"]


def test_a_file_one_of_its_names_and_a_ready_made_reward(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    assert explained(capsys, str(path))["formula"] == "gsm8k() + 0.1 * polite()"
    assert explained(capsys, f"{path}:other")["formula"] == "polite()"
    assert explained(capsys, "gsm8k")["formula"] == "gsm8k()"


def test_findings_come_with_their_numbers(rewardkit):
    out = rewardkit("explain", "length(0.1) + ends_with('.?!') + 2 * gsm8k()").stdout
    assert "warning [unbounded-total, proved] the total is unbounded above, by length(0.1)" in out
    assert "warning [verdict-outweighed, proved] a wrong answer can earn any amount while a right one can earn" in out
    assert "earns 2.2" in out and "hint: pay the rest only to right answers" in out


ROW = {"response": "It is four.\n#### 4", "ground_truth": "4"}


@pytest.fixture
def row(tmp_path):
    def write(value):
        path = tmp_path / "row.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)

    return write


def test_on_a_row_every_node_has_its_value_and_status(row, rewardkit):
    done = rewardkit("explain", "when(gsm8k(), 1, length()) + 0.5 * ends_with('.')", "--on", row(ROW))
    assert done.returncode == 0, done.stderr
    tree = done.stdout.split("\n\n")[0].splitlines()
    assert tree[0].endswith("= 1") and tree[2].endswith("= 1")
    assert tree[4].endswith("length()  Reward [0, unbounded above] ↑ cheap as 'length'  = - not_run")
    assert re.search(r"^total +1  scored$", done.stdout, re.MULTILINE)


def test_on_a_row_that_fails_the_status_and_the_reason_are_told(row, capsys, tmp_path):
    explanation = explained(capsys, "gsm8k() + length()", "--on", row({"response": "five"}))
    assert (explanation["row"]["total"], explanation["row"]["status"]) == (None, "bad_gold")
    assert "no ground truth" in explanation["row"]["reasons"]["gsm8k"]
    gsm8k, length = explanation["tree"]["operands"]
    assert (gsm8k["status"], gsm8k["value"]) == ("bad_gold", None)
    assert (length["status"], length["value"]) == ("scored", 1)
    (tmp_path / "bug.py").write_text(MINE.replace('float("please" in sample.response)', "1 / 0"))
    explanation = explained(capsys, f"{tmp_path / 'bug.py'}:other", "--on", row(ROW))
    assert explanation["row"]["status"] == "error" and "ZeroDivisionError" in explanation["row"]["reasons"]["polite"]


def test_with_tokens_it_says_where_the_reward_stands(row, capsys):
    words = ["It", " is", " four", ".\n", "####", " 4"]
    tokens = {"tokens": list(range(10, 16)), "token_texts": words}
    explanation = explained(capsys, "length(0.1).on('four') + gsm8k()", "--on", row({**ROW, **tokens}))
    assert [(t["index"], t["id"], t["text"]) for t in explanation["row"]["tokens"]] == [(2, 12, " four"), (5, 15, " 4")]
    assert [t["reward"] for t in explanation["row"]["tokens"]] == pytest.approx([0.5, 1.0])
    assert explanation["row"]["total"] == pytest.approx(1.5)
    without = explained(capsys, "gsm8k().spread()", "--on", row({**ROW, "tokens": [1, 2]}))
    assert [t["reward"] for t in without["row"]["tokens"]] == [0.5, 0.5]
    missing = explained(capsys, "gsm8k().on('4')", "--on", row({**ROW, "tokens": [1, 2]}))
    assert "token_texts" in missing["row"]["tokens_missing"]


def test_the_step_and_a_group_of_one(row, capsys):
    formula = "linear(0, 1, steps=10) * length() + group_rank(length())"
    assert explained(capsys, formula, "--on", row(ROW), "--step", "5")["row"]["total"] == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("{", "is not JSON"),
        ("[1]", "is a JSON list; expected one row"),
        ({"text": "x"}, "has no `response` (nor `responses`, `output`); its fields are `text`"),
        ({"response": 3}, "`response` is 3, a int; expected text"),
        ({**ROW, "tokens": ["a"]}, "expected a list of token ids"),
        ({**ROW, "tokens": [1], "token_texts": ["a", "b"]}, "one text a token"),
        ({**ROW, "tokens": [1], "token_texts": ["a"]}, "are not the `response`"),
    ],
)
def test_a_bad_row_is_exit_code_2(value, words, row, capsys):
    path = row(value)
    assert run(["explain", "gsm8k()", "--on", path]) == 2
    captured = capsys.readouterr()
    assert not captured.out and path in captured.err and words in captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lenght(0.1)"], "did you mean 'length'?"),
        (["gsm8k() > 1"], "a Condition"),
        (["nowhere.py"], "no file nowhere.py"),
        (["gsm8k()", "--on", "nowhere.json"], "no file nowhere.json"),
        (["gsm8k()", "--step", "-1"], "--step"),
        ([], "Missing argument"),
    ],
)
def test_bad_input_is_exit_code_2(arguments, words, capsys):
    assert run(["explain", *arguments]) == 2
    captured = capsys.readouterr()
    assert not captured.out and words in captured.err and "Traceback" not in captured.err


def test_colour_on_a_terminal_unless_no_color(on_terminal):
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-9]m")
    assert coloured.search(on_terminal("explain", "length()"))
    assert not coloured.search(on_terminal("explain", "length()", NO_COLOR="1"))


def test_the_deepest_and_the_largest_formula_are_explained(capsys):
    deep = "length()"
    for _ in range(48):
        deep = f"clip({deep} + 1, 0, 1)"
    assert explained(capsys, deep)["bounds"] == [1, 1]
    wide = " + ".join(f"{i} * length(0.1)" for i in range(1, 450))
    explanation = explained(capsys, wide)
    assert len(explanation["tree"]["operands"]) == 449
    assert explanation["bounds"][1] is None and compile(wide).bounds.low == 0
