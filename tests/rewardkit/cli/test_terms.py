"""`rewardkit terms` as a user runs it."""

from __future__ import annotations

import json

from rewardkit.algebra.registry import functions, terms
from rewardkit.cli import run


def test_the_list_has_every_term_and_function_with_what_it_declares(rewardkit):
    done = rewardkit("terms")
    assert done.returncode == 0 and not done.stderr
    blocks = {line.split("(")[0]: i for i, line in enumerate(done.stdout.splitlines()) if line[:1].isalpha()}
    assert {*terms(), *functions()} <= set(blocks)
    lines = done.stdout.splitlines()
    at = blocks["length"]
    assert lines[at] == "length(per_unit=1.0, *, unit='words', cap=None)"
    assert lines[at + 2].strip() == "Reward [0, unbounded above]; needs response; cheap"
    assert "needs ground_truth, response" in lines[blocks["gsm8k"] + 2]


def test_json_has_parameters_bounds_needs_cost_and_docs(capsys):
    assert run(["terms", "--json"]) == 0
    entries = {e["name"]: e for e in json.loads(capsys.readouterr().out)}
    assert set(entries) == {*terms(), *functions()}
    length = entries["length"]
    assert (length["kind"], length["bounds"], length["needs"], length["cost"]) == (
        "Reward", [0.0, None], ["response"], "cheap",
    )  # fmt: skip
    assert length["parameters"][0] == {"name": "per_unit", "type": "float > 0", "required": False, "default": 1.0}
    assert length["parameters"][1]["type"] == "'words' | 'characters' | 'tokens'"
    assert entries["ends_with"]["parameters"][0]["required"] is True
    assert entries["cosine_length"]["bounds"] is None  # they are its required parameters
    assert all(e["summary"] and e["doc"].startswith(e["summary"]) for e in entries.values())


def test_one_term_in_full(capsys):
    assert run(["terms", "gsm8k"]) == 0
    text = capsys.readouterr().out
    assert "Cobbe et al. 2021" in text and "needs ground_truth, response" in text and "``" not in text
    assert run(["terms", "gsm8k", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["doc"].splitlines()[0] in text.replace("`", "``")


def test_a_function_of_the_algebra_in_full(capsys):
    assert run(["terms", "linear"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("linear(start, end, *, steps, begin=0) -> function\n")
    assert "straight line" in text


def test_an_unknown_name_is_exit_code_2_with_the_likely_one(capsys):
    assert run(["terms", "lenght"]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err == "rewardkit: 'lenght' is not in the vocabulary\n  hint: did you mean 'length'?\n"


def test_colour_on_a_terminal_and_none_for_a_pipe(rewardkit, on_terminal):
    assert "\x1b[1m" in on_terminal("terms")
    assert "\x1b" not in rewardkit("terms").stdout
