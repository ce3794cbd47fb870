"""`rewardkit score` as a user runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rewardkit.cli import run
from tests.rewardkit.cli.conftest import ROOT

FORMULA = "gsm8k() + length(0.1) + 0 * ends_with('.')"
ROWS = [
    {"response": "#### 4", "ground_truth": "4"},
    {"response": "It is five.", "ground_truth": "4", "other": [1]},
    {"response": "", "ground_truth": "4"},
    {"response": "#### 4"},
]


@pytest.fixture
def data(tmp_path: Path):
    def write(rows: object, name: str = "data.jsonl") -> str:
        path = tmp_path / name
        if isinstance(rows, bytes):
            path.write_bytes(rows)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))  # type: ignore[attr-defined]
        return str(path)

    return write


def lines_of(text: str):
    return [json.loads(line) for line in text.splitlines()]


def scored(capsys, *arguments: str):
    assert run(["score", *arguments]) == 0
    return lines_of(capsys.readouterr().out)


def test_one_object_a_row_with_score_terms_and_status(data, rewardkit):
    done = rewardkit("score", FORMULA, data(ROWS))
    assert done.returncode == 0, done.stderr
    assert lines_of(done.stdout) == [
        {
            "score": 1.2,
            "total_status": "scored",
            "terms": {"gsm8k": 1.0, "length": 0.2, "ends_with": 0.0},
            "status": {"gsm8k": "scored", "length": "scored", "ends_with": "scored"},
        },
        {
            "score": 0.30000000000000004,
            "total_status": "scored",
            "terms": {"gsm8k": 0.0, "length": 0.30000000000000004, "ends_with": 1.0},
            "status": {"gsm8k": "no_answer", "length": "scored", "ends_with": "scored"},
        },
        {
            "score": 0.0,
            "total_status": "scored",
            "terms": {"gsm8k": 0.0, "length": 0.0, "ends_with": 0.0},
            "status": {"gsm8k": "no_answer", "length": "scored", "ends_with": "scored"},
        },
        {
            "score": None,
            "total_status": "bad_gold",
            "terms": {"gsm8k": None, "length": 0.2, "ends_with": 0.0},
            "status": {"gsm8k": "bad_gold", "length": "scored", "ends_with": "scored"},
        },
    ]
    assert "4 rows, 25.0% unscored" in done.stderr
    assert re.search(r"^gsm8k +0\.3333 .*no_answer 50\.0%", done.stderr, re.MULTILINE)
    assert "data.jsonl:4: gsm8k: no ground truth" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_row_keeps_its_group_whether_the_formula_needs_one_or_not(data, capsys):
    rows = [{"response": "a b", "group": "p1"}, {"response": "a b c", "uid": 2}, {"response": "a"}]
    assert [row.get("group", ...) for row in scored(capsys, "length()", data(rows))] == ["p1", 2, None]
    assert [row.get("group", ...) for row in scored(capsys, "length()", data([{"response": "a"}]))] == [...]
    ranked = scored(capsys, "group_rank(length())", data(rows[:1] * 2))
    assert [row["group"] for row in ranked] == ["p1", "p1"]


def test_out_is_a_file_and_json_is_the_summary(data, tmp_path, capsys):
    out = tmp_path / "scores.jsonl"
    out.write_text("old")
    assert run(["score", FORMULA, data(ROWS), "--out", str(out), "--json"]) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert not captured.err
    assert (summary["rows"], summary["unscored"]) == (4, 0.25)
    assert summary["total"]["mean"] == pytest.approx(0.5)
    assert summary["terms"]["gsm8k"]["status"] == {"scored": 0.25, "no_answer": 0.5, "bad_gold": 0.25}
    assert [row["score"] for row in lines_of(out.read_text())][2:] == [0.0, None]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.jsonl", "scores.jsonl"]


def test_without_out_the_json_summary_goes_to_standard_error(data, capsys):
    assert run(["score", FORMULA, data(ROWS), "--json"]) == 0
    captured = capsys.readouterr()
    assert len(lines_of(captured.out)) == 4 and json.loads(captured.err)["rows"] == 4


def test_parquet_gives_the_same_lines(data, tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    expected = scored(capsys, FORMULA, data(ROWS))
    parquet.write_table(pa.Table.from_pylist(ROWS), tmp_path / "data.parquet")
    assert scored(capsys, FORMULA, str(tmp_path / "data.parquet")) == expected


VERL = {
    "a data set with a response": {
        "response": "#### 4", "data_source": "a", "prompt": [{"role": "user", "content": "2 + 2?"}],
        "reward_model": {"style": "rule", "ground_truth": "4"}, "extra_info": {"index": 0},
    },
    "generations": {"responses": ["#### 4"], "reward_model": {"ground_truth": "4"}, "data_source": "a"},
    "a rollout dump": {"input": "2 + 2?", "output": "#### 4", "gts": "4", "score": 0.0, "step": 3, "data_source": "a"},
    "names that agree": {"responses": "#### 4", "output": "#### 4", "gts": "4", "data_source": "a"},
    "its own names win": {"response": "#### 4", "output": "x", "ground_truth": "4", "gts": "5", "data_source": "a"},
}  # fmt: skip


@pytest.mark.parametrize("what", VERL)
def test_verls_own_columns(what, data, capsys):
    assert [r["score"] for r in scored(capsys, "route({'a': gsm8k()})", data([VERL[what]]))] == [1.0]


def test_verls_own_columns_in_parquet(tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"responses": ["#### 4"], "reward_model": {"style": "rule", "ground_truth": "4"}}] * 3
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    assert [r["score"] for r in scored(capsys, "gsm8k()", str(tmp_path / "d.parquet"))] == [1.0] * 3


def test_groups_are_scored_whole_whatever_the_chunks(data, capsys, monkeypatch):
    from rewardkit.scoring import reading

    rows = [{"response": "w " * (i % 5), "group": f"g{i // 4}"} for i in range(50)]
    path = data(rows)
    whole = scored(capsys, "group_rank(length())", path)
    for size in (1, 3, 4, 7):
        monkeypatch.setattr(reading, "CHUNK_ROWS", size)
        assert scored(capsys, "group_rank(length())", path) == whole
    limited = scored(capsys, "group_rank(length())", path, "--limit", "5")
    assert limited == whole[:8]  # the group that row 5 is in is finished


def test_a_group_that_comes_back_is_refused(data, capsys):
    path = data([{"response": "a", "group": g} for g in ("x", "y", "x")])
    assert run(["score", "group_rank(length())", path]) == 2
    assert f"{path}:3: the group 'x' was left and comes back" in capsys.readouterr().err


def test_the_step_and_the_limit(data, capsys):
    path = data([{"response": "one two"}] * 5)
    scored_rows = scored(capsys, "linear(0, 1, steps=10) * length()", path, "--step", "5", "--limit", "2")
    assert [r["score"] for r in scored_rows] == [1.0, 1.0]
    assert scored(capsys, "linear(0, 1, steps=10) * length()", path)[0]["score"] == 0.0


def test_tokens_truncated_prompt_and_extra_info_reach_the_terms(data, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "from rewardkit import Sample, term\n"
        "@term(needs=('tokens', 'truncated', 'prompt', 'extra_info'), bounds=(0, None))\n"
        "def seen(sample: Sample) -> float:\n"
        "    rest = 100 * len(sample.prompt) + 1000 * sample.extra_info['k']\n"
        "    return len(sample.tokens) + 10 * sample.truncated + rest\n"
        "reward = seen()\n"
    )
    row = {"response": "a", "tokens": [7, 8], "truncated": True, "prompt": "abc", "extra_info": {"k": 4}}
    assert scored(capsys, str(tmp_path / "mine.py"), data([row]))[0]["score"] == 4312


GOOD = {"response": "a", "ground_truth": "4"}
BAD = {
    "no JSON": (b'{"response": "a"}\n{"response": \n', ":2: is not JSON"),
    "two objects on a line": (b'{"response": "a"}{"response": "b"}\n', ":1: is not JSON"),
    "an array": (b'[{"response": "a"}]\n', ":1: is a JSON list; expected one object a line"),
    "no UTF-8": (b'{"response": "a"}\n{"response": "\xff"}\n', ":2: is not UTF-8"),
    "no response": ([GOOD, {"text": "a"}], ":2: has no `response` (nor `responses`, `output`); its fields are `text`"),
    "null response": ([GOOD, {"response": None}], ":2: has no `response`"),
    "a number": ([{"response": 3, "ground_truth": "4"}], ":1: `response` is 3, a int; expected text"),
    "several responses": ([{"responses": ["a", "b"], "gts": "4"}], ":1: `responses` holds 2 texts; expected one"),
    "names that differ": ([{"output": "a", "responses": "b", "gts": "4"}], "both `responses` and `output`"),
    "golds that differ": (
        [{"response": "a", "gts": "4", "reward_model": {"ground_truth": "5"}}],
        "both `reward_model.ground_truth` and `gts`",
    ),
    "no ground truth anywhere": ([{"response": "a", "answer": "4"}] * 3, "none of the first 3 rows"),
    "no rows": (b"\n\n", "has no rows"),
    "nested too deep": (b'{"response": ' + b"[" * 100_000 + b"\n", ":1: is not JSON"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_row_is_named_and_nothing_is_written(what, data, tmp_path, capsys):
    rows, words = BAD[what]
    path = data(rows)
    assert run(["score", "gsm8k()", path, "--out", str(tmp_path / "out.jsonl")]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and path in captured.err and not captured.out
    assert [p.name for p in tmp_path.iterdir()] == ["data.jsonl"]


NEEDS = {
    "tokens": ("length(unit='tokens')", {"response": "a"}, "has no `tokens`"),
    "token types": ("length(unit='tokens')", {"response": "a", "tokens": [1.5]}, "expected a list of token ids"),
    "group": ("group_rank(length())", {"response": "a"}, "has no `group` (nor `uid`)"),
    "group type": ("group_rank(length())", {"response": "a", "group": [1]}, "`group` is [1], a list"),
    "data_source": ("route({'a': length()})", {"response": "a", "data_source": 3}, "`data_source` is 3"),
    "prompt": ("copy_share(2)", {"response": "a", "prompt": 3}, "`prompt` is 3"),
    "extra_info": ("route({'a': 1}, by='k')", {"response": "a", "extra_info": "x"}, "`extra_info` is 'x'"),
}


@pytest.mark.parametrize("what", NEEDS)
def test_what_the_formula_needs_and_a_row_lacks(what, data, capsys):
    formula, row, words = NEEDS[what]
    path = data([row])
    assert run(["score", formula, path]) == 2
    assert f"{path}:1: " in (err := capsys.readouterr().err) and words in err


def test_what_a_term_makes_use_of_reaches_it_where_a_row_has_it(data, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "from rewardkit import Sample, term\n"
        "@term(reads=('prompt',), bounds=(0, None))\n"
        "def asked(sample: Sample) -> float:\n"
        "    return float(len(sample.prompt or ''))\n"
        "reward = asked()\n"
    )
    rows = [{"response": "a"}, {"response": "a", "prompt": "ask"}, {"output": "a", "input": "question"}]
    assert [r["score"] for r in scored(capsys, str(tmp_path / "mine.py"), data(rows))] == [0, 3, 8]


def test_a_field_that_the_formula_doesn_t_need_may_be_anything(data, capsys):
    row = {"response": "a b", "prompt": 3, "group": [], "tokens": "x", "truncated": "no"}
    assert scored(capsys, "length().spread()", data([row]))[0]["score"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lenght()", "DATA"], "did you mean 'length'?"),
        (["length()", "nowhere.jsonl"], "no file nowhere.jsonl"),
        (["length()", "DATA", "--out", "."], "is a folder"),
        (["length()", "DATA", "--out", "no/where/x"], "no folder"),
        (["length()", "DATA", "--limit", "0"], "--limit"),
        (["length()"], "Missing argument"),
    ],
)
def test_bad_usage_is_exit_code_2(arguments, words, data, capsys):
    path = data([{"response": "a"}])
    assert run(["score", *(path if a == "DATA" else a for a in arguments)]) == 2
    captured = capsys.readouterr()
    assert words in captured.err and not captured.out and "Traceback" not in captured.err


def test_broken_parquet(data, capsys):
    pytest.importorskip("pyarrow")
    path = data(b"PAR1" + b"\0" * 50, "data.parquet")
    assert run(["score", "length()", path]) == 2
    assert f"{path} is not a parquet file that can be read" in capsys.readouterr().err


def test_parquet_without_a_response_names_its_columns(tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"text": ["a"]}), tmp_path / "d.parquet")
    assert run(["score", "length()", str(tmp_path / "d.parquet")]) == 2
    assert "has no column `response`" in (err := capsys.readouterr().err) and "['text']" in err


def test_a_bar_and_a_coloured_table_on_a_terminal_only(data, on_terminal):
    shown = on_terminal("score", "length()", data([{"response": "a"}] * 20), "--out", "o.jsonl")
    assert "100%" in shown and "20 rows" in shown and "\x1b[1m" in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", on_terminal("score", "length()", data(ROWS), NO_COLOR="1"))


def test_a_reader_that_leaves_is_no_traceback(data):
    path = data([{"response": "a"}] * 50_000)
    command = f"{sys.executable} -m rewardkit score 'length()' {path} | head -n 1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["score"] == 1.0 and "Traceback" not in done.stderr


def test_sigterm_leaves_no_partial_file(data, tmp_path):
    path, reward = data([{"response": "a b c"}]), tmp_path / "endless.py"
    reward.write_text(
        "import pathlib, time\nfrom rewardkit import Sample, term\n@term(bounds=(0, 1))\n"
        "def endless(sample: Sample) -> float:\n"
        f"    pathlib.Path({str(tmp_path)!r}, 'begun').touch()\n    time.sleep(600)\n    return 1.0\n"
        "reward = endless()\n"
    )
    command = [sys.executable, "-m", "rewardkit", "score", str(reward), path, "--out", str(tmp_path / "o.jsonl")]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "begun").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 143
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["begun", "data.jsonl", "endless.py"]


def test_a_profile_says_where_each_term_ran(data, tmp_path, capsys):
    rows = [{"response": f"#### {i % 2}", "ground_truth": "1"} for i in range(8)]
    formula = "when(gsm8k(), 1, length()) + 0.1 * ends_with('.', min_words=0)"
    out = str(tmp_path / "out.jsonl")
    assert run(["score", formula, data(rows), "--out", out, "--profile", "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)["profile"]
    assert set(profile["stages"]) == {"reading", "terms", "arithmetic", "writing"}
    assert all(seconds > 0 for seconds in profile["stages"].values())
    counts = {name: (term["asked"], term["ran"]) for name, term in profile["terms"].items()}
    assert counts == {"gsm8k": (8, 2), "length": (4, 1), "ends_with": (8, 2)}, "equal rows once, only rows that matter"
    assert sum(term["seconds"] for term in profile["terms"].values()) <= profile["stages"]["terms"]
    assert run(["score", formula, data(rows), "--out", out, "--profile"]) == 0
    assert "us/row" in capsys.readouterr().err


def test_parquet_out_holds_what_the_lines_do(data, tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{**row, "group": i // 2} for i, row in enumerate(ROWS)]
    path, out = data(rows), tmp_path / "out.parquet"
    expected = scored(capsys, FORMULA, path)
    assert run(["score", FORMULA, path, "--out", str(out)]) == 0
    assert parquet.read_table(out).to_pylist() == expected and expected[3]["score"] is None
    assert run(["score", "1 + 1", path, "--out", str(out)]) == 0
    assert parquet.read_table(out).column_names == ["score", "total_status", "group"], "parquet has no empty struct"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.jsonl", "out.parquet"]


def test_a_group_that_is_no_json_and_one_that_is_no_text_are_written(data, tmp_path, capsys):
    path = data([{"response": "a", "group": float("nan")}, {"response": "a", "group": "\ud800"}])
    assert run(["score", "length()", path]) == 0
    written = [json.loads(line, parse_constant=pytest.fail) for line in capsys.readouterr().out.splitlines()]
    assert [row["group"] for row in written] == ["nan", "\ud800"]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run(["score", "length()", path, "--out", str(tmp_path / "o.parquet")]) == 0
    assert parquet.read_table(tmp_path / "o.parquet")["group"].to_pylist() == ["nan", "\\ud800"]


GROUPS = {
    "none at first": ([None, "a"], "some rows have a group, and the first ones have none"),
    "text after numbers": ([1, "a"], "some groups are text, and the first ones are numbers"),
    "none later": (["a", None, 3], ["a", None, "3"]),
    "no number of 64 bits": ([1 << 70, None], [str(1 << 70), None]),
}


@pytest.mark.parametrize("what", GROUPS)
def test_a_column_of_groups_has_one_type(what, data, tmp_path, capsys, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    from rewardkit.scoring import reading

    monkeypatch.setattr(reading, "CHUNK_ROWS", 1)
    groups, expected = GROUPS[what]
    path, out = data([{"response": "a", "group": g} for g in groups]), tmp_path / "out.parquet"
    code = run(["score", "length()", path, "--out", str(out)])
    if isinstance(expected, str):
        assert code == 2 and expected in capsys.readouterr().err and not out.exists()
    else:
        assert parquet.read_table(out)["group"].to_pylist() == expected


def test_a_folder_and_a_pattern_are_files_in_the_order_of_their_numbers(data, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    for n in (10, 9, 2):
        data([{"response": "w " * n}] * 2, f"in/part-{n}.jsonl")
    data([], "in/part-3.jsonl")
    (tmp_path / "in" / "notes.txt").write_text("no data")
    (tmp_path / "in" / ".part-1.jsonl").write_text("hidden")
    for named in (tmp_path / "in", tmp_path / "in" / "part-*.jsonl"):
        assert [row["score"] for row in scored(capsys, "length()", str(named))] == [2, 2, 9, 9, 10, 10]
    assert len(scored(capsys, "length()", str(tmp_path / "in"), "--limit", "3")) == 3


def test_files_that_name_nothing_or_are_the_output(data, tmp_path, capsys):
    path = data([{"response": "a"}])
    (tmp_path / "empty").mkdir()
    for arguments, words in (
        ([str(tmp_path / "empty")], "has no .jsonl and no .parquet file in it"),
        ([str(tmp_path / "*.parquet")], "no file matches"),
        ([str(tmp_path), "--out", path], ", which is read; expected another file"),
        ([path, "--out", "/dev/null.parquet/x.parquet"], "no folder /dev/null.parquet"),
    ):
        assert run(["score", "length()", *arguments]) == 2
        assert words in capsys.readouterr().err
