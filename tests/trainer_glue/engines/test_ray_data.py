"""`rewardkit score --engine ray`: what the local engine writes, byte for byte, and the same words about errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.cli import run

ROOT = Path(__file__).parents[3]
run_marker = pytest.mark.run

OWN = """
from rewardkit import Sample, math_equal, term

@term(needs=("ground_truth",), bounds=(0, 1))
def picky(sample: Sample) -> float:
    if sample.response.endswith("3"):
        raise ValueError("no threes")
    return float("nan") if sample.response.endswith("4") else float(sample.ground_truth == "1")

reward = picky() + 0.5 * math_equal()
"""


def test_without_ray_one_error_names_the_extra(tmp_path, capsys, monkeypatch):
    (tmp_path / "d.jsonl").write_text('{"response": "a"}\n')
    monkeypatch.delitem(sys.modules, "trainer_glue.engines.ray_data", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["score", "length()", str(tmp_path / "d.jsonl"), "--engine", "ray"]) == 2
    assert "--engine ray needs Ray Data; ray is not installed\n  hint: pip install 'rewardkit-rl[ray]'" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("address", "words"),
    [("ray://head:10001", "is a Ray client's"), ("127.0.0.1:1", "no Ray cluster answers at RAY_ADDRESS=127.0.0.1:1")],
)
def test_an_address_without_a_cluster_is_refused_at_once(address, words, tmp_path, capsys, monkeypatch):
    pytest.importorskip("ray.data")
    (tmp_path / "d.jsonl").write_text('{"response": "a"}\n')
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert run(["score", "length()", str(tmp_path / "d.jsonl"), "--engine", "ray"]) == 2
    assert words in capsys.readouterr().err


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def rows(n: int) -> list[dict[str, object]]:
    """Right, wrong and missing answers, ground truths that are none, and rows that repeat."""
    ground_truths = ["1", "2", "1", None, "three"]
    texts = ["so it is.\n#### {}", "#### {}", "", "The answer is {}", "a b c d {}"]
    return [
        {
            "response": texts[i % 5].format(i % 7),
            "ground_truth": ground_truths[i % 11 % 5],
            "uid": f"q{i // 5}",
            "note": i,
        }
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("data")
    table = pa.Table.from_pylist(rows(7_000))
    for i, (start, end) in enumerate([(0, 4_500), (4_500, 4_500), (4_500, 4_800), (4_800, 7_000)], start=8):
        parquet.write_table(table[start:end], folder / f"part-{i}.parquet", row_group_size=3_000)
    parquet.write_table(table[:40], folder.with_name("few.parquet"))
    return folder


FORMULAS = {
    "unscored rows of four files": ("linear(0, 1, steps=10) * length() + gsm8k() --step 5 --limit 4700", "{data}"),
    "groups": ("group_rank(length()) + when(gsm8k(), group_zscore(length()), 0) --limit 4803", "{data}/part-*.parquet"),
    "terms of one's own, and workers": ("{own}", "{data}/../few.parquet"),
}


@run_marker
@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("what", FORMULAS)
def test_both_engines_write_the_same_bytes(what, data, tmp_path, capsys):
    formula, name = FORMULAS[what]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(OWN)
    formula, *options = formula.format(own=tmp_path / "own" / "mine.py").split(" --")
    arguments = [formula, name.format(data=data), *(word for option in options for word in f"--{option}".split())]
    said = {}
    for engine in ("local", "ray"):
        out = tmp_path / f"{engine}.parquet"
        assert run(["score", *arguments, "--out", str(out), "--engine", engine, "--json", "--profile"]) == 0
        said[engine] = json.loads(capsys.readouterr().out)
    assert (tmp_path / "local.parquet").read_bytes() == (tmp_path / "ray.parquet").read_bytes()
    ran = [{n: (t["asked"], t["ran"]) for n, t in said[e].pop("profile")["terms"].items()} for e in ("local", "ray")]
    assert ran[0] == ran[1] and said["local"] == said["ray"], "the summary too, to the last bit"
    rows = {"unscored rows of four files": 4_700, "groups": 4_805}.get(what, 40)  # a group that is begun is finished
    assert said["ray"]["rows"] == rows and 0 < said["ray"]["unscored"] < 1


@run_marker
@pytest.mark.usefixtures("ray_here")
def test_programs_run_on_all_workers_and_both_engines_write_the_same_bytes(tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    tests = json.dumps({"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]})
    programs = ["print(sum(map(int, input().split())))", "print(3)", "import os; os._exit(0)", "print(1 / 0)", "x = ="]
    texts = [f"So: {i}\n```python\n{program}\n```" for i in range(12) for program in programs] + ["no program"] * 4
    for k in range(2):
        rows = [{"response": t, "ground_truth": tests if n % 8 else "{}"} for n, t in enumerate(texts[k::2])]
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / f"part-{k}.parquet")
    said = {}
    for engine in ("local", "ray"):
        out = tmp_path / f"{engine}.parquet"
        arguments = ["code_tests(pay='share')", str(tmp_path / "part-*.parquet"), "--out", str(out), "--json"]
        assert run(["score", *arguments, "--engine", engine]) == 0
        said[engine] = json.loads(capsys.readouterr().out)
    assert (tmp_path / "local.parquet").read_bytes() == (tmp_path / "ray.parquet").read_bytes()
    assert said["local"] == said["ray"] and said["ray"]["rows"] == 64 and said["ray"]["unscored"] == 8 / 64
    totals = parquet.read_table(tmp_path / "ray.parquet").to_pylist()
    assert len({json.dumps(row, default=str) for row in totals}) > 3


@run_marker
@pytest.mark.usefixtures("ray_here")
def test_lines_in_and_out_and_the_same_words_for_the_first_bad_row(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no worker is: names in messages are still the user's
    lines = [json.dumps(row) + "\n" for row in rows(500)]
    Path("d.jsonl").write_text("".join(lines))
    assert run(["score", "gsm8k()", "d.jsonl", "--out", "local.jsonl"]) == 0
    expected = capsys.readouterr().err
    assert run(["score", "gsm8k()", "d.jsonl", "--out", "ray.jsonl", "--engine", "ray"]) == 0
    assert capsys.readouterr().err == expected and "d.jsonl:" in expected
    assert Path("local.jsonl").read_text() == Path("ray.jsonl").read_text()
    Path("bad.jsonl").write_text("".join([*lines, '{"response": 3}\n', "no json"]))
    before = sorted(p.name for p in tmp_path.iterdir())
    for engine in ("local", "ray"):
        assert run(["score", "gsm8k()", "bad.jsonl", "--out", "out.jsonl", "--engine", engine]) == 2
        assert "bad.jsonl:502: is not JSON" in capsys.readouterr().err
    skipped = []
    for engine in ("local", "ray"):
        arguments = ["--engine", engine, "--on-bad-row", "skip", "--json", "--out", f"{engine}.jsonl"]
        assert run(["score", "gsm8k()", "bad.jsonl", *arguments]) == 0
        skipped.append(json.loads(capsys.readouterr().out)["skipped_rows"])
    assert skipped[0] == skipped[1] and [row["row"] for row in skipped[1]] == [501, 502]
    assert Path("local.jsonl").read_text() == Path("ray.jsonl").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@run_marker
@pytest.mark.usefixtures("ray_here")
def test_a_group_in_two_files_is_refused_by_both(tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"response": "a", "group": 7}\n')
    for engine in ("local", "ray"):
        assert run(["score", "group_rank(length())", str(tmp_path), "--engine", engine]) == 2
        assert f"b.jsonl: the group 7 is in {tmp_path}/a.jsonl too" in capsys.readouterr().err


@run_marker
def test_ctrl_c_leaves_no_file_and_no_process(tmp_path):
    pytest.importorskip("ray.data")
    (tmp_path / "d.jsonl").write_text('{"response": "a b c"}\n{"response": "d"}\n')
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\nfrom rewardkit import Sample, term\n@term(bounds=(0, 1))\n"
        "def slow(sample: Sample) -> float:\n"
        f"    pathlib.Path({str(tmp_path)!r}, 'begun').touch()\n    time.sleep(60)\n    return 1.0\nreward = slow()\n"
    )
    command = ["score", "slow.py", "d.jsonl", "--out", "o.parquet", "--engine", "ray"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TEST_RAY_DATA": str(tmp_path)}
    environment.pop("RAY_ADDRESS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "rewardkit", *command], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (tmp_path / "begun").exists() and list(tmp_path.glob("*.partial")), "it is in the midst of it"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in errors, errors
    assert sorted(p.name for p in tmp_path.iterdir()) == ["begun", "d.jsonl", "slow.py"]
    deadline = time.monotonic() + 10
    while (left := _processes_with(f"TEST_RAY_DATA={tmp_path}")) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left


def _processes_with(variable: str) -> list[str]:
    command_lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                command_lines.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return command_lines
