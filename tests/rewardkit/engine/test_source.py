"""Rewards by formula, by file, by name; and the same reward again in a process that has no such file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rewardkit import Batch, compile, parse
from rewardkit.engine.loading import load_reward, reward_from_config
from rewardkit.errors import ConfigError, FormulaError, RewardKitError

USER_FILE = '''
from rewardkit import Sample, length, term

@term(bounds=(0, 1))
def mentions(sample: Sample, word: str) -> float:
    """Text with a ${dollar} in it."""
    return float(word in sample.response)

reward = mentions("four") + length(0.1)
other = length(1.0)
condition = length(1.0) > 3
number = 3
'''


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    path = tmp_path / "my-reward.py"
    path.write_text(USER_FILE)
    return path


def test_a_formula_is_read_as_written() -> None:
    source = load_reward(" length(0.1, cap=2)+ends_with('.?!') ")
    assert source.reward == parse("length(0.1, cap=2) + ends_with('.?!')")
    assert source.formula == repr(source.reward)
    assert source.source is None
    assert source.needs == {"response"}


def test_needs_come_from_every_term() -> None:
    assert load_reward("0.1 * gsm8k() + length(0.1)").needs == {"response", "ground_truth"}


def test_a_file_sets_its_reward_or_the_named_one(user_file: Path) -> None:
    assert load_reward(str(user_file)).formula == "mentions('four') + length(0.1)"
    assert load_reward(f"{user_file}:other").reward == parse("length(1)")


def test_a_reward_with_user_terms_is_the_same_in_another_process(user_file: Path, tmp_path: Path) -> None:
    source = load_reward(str(user_file))
    config = tmp_path / "config.json"
    config.write_text(json.dumps(source.to_config()))
    user_file.unlink()
    code = (
        "import json, sys\n"
        "from rewardkit import Batch, compile, fingerprint\n"
        "from rewardkit.engine.loading import reward_from_config\n"
        "reward = reward_from_config(json.load(open(sys.argv[1])))\n"
        "print(fingerprint(reward), compile(reward)(Batch(['four', 'five six'])).total.tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(config)], capture_output=True, text=True, check=True)
    expected = compile(source.reward)(Batch(["four", "five six"])).total.tolist()
    assert done.stdout.split(maxsplit=1) == [source.fingerprint, f"{expected}\n"]


def test_a_file_of_built_in_terms_travels_as_its_formula_alone(user_file: Path) -> None:
    assert load_reward(f"{user_file}:other").to_config() == {"formula": "length()", "source": None, "name": None}


def test_an_edited_source_is_refused(user_file: Path) -> None:
    config = load_reward(str(user_file)).to_config()
    assert config["source"] is not None
    with pytest.raises(ConfigError, match="one of the two was edited"):
        reward_from_config({**config, "source": config["source"].replace('"four"', '"five"')})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lenght(0.1)", "length"),
        ("length(-1)", "per_unit"),
        ("length(0.1", "formula"),
        ("gsm9k", "did you mean 'gsm8k'"),
        ("nothing/here", "gsm8k_shaped"),
        ("nowhere.py", "no file nowhere.py"),
        ("", "formula"),
        ("{file}:missing", "sets no 'missing'"),
        ("{file}:missing", "reward, other"),
        ("{file}:number", "is a int"),
        ("{file}:condition", "when(condition, 1, 0)"),
    ],
)
def test_what_is_wrong_is_said(text: str, says: str, user_file: Path) -> None:
    with pytest.raises(RewardKitError) as raised:
        load_reward(text.replace("{file}", str(user_file)))
    assert says in str(raised.value)


def test_an_unclear_reward_names_all_three_readings() -> None:
    with pytest.raises(ConfigError) as raised:
        load_reward("correctness")
    message = str(raised.value)
    assert "As a formula" in message and "As a file" in message and "As a name" in message


def test_a_file_that_fails_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("from rewardkit import length\n\nreward = length(0.1) + nothing\n")
    with pytest.raises(ConfigError, match=r"broken\.py doesn't load: line 3: NameError"):
        load_reward(str(path))
    path.write_text("import neighbour_of_mine\n")
    with pytest.raises(ConfigError, match="stands alone"):
        load_reward(str(path))
    path.write_text("reward = (\n")
    with pytest.raises(ConfigError, match="SyntaxError"):
        load_reward(str(path))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("@term()\ndef t(sample: Sample) -> float:\n    return 0.0\nreward = t\n", "call it: reward = t()"),
        ("@term\ndef t(sample: Sample) -> float:\n    return 0.0\nreward = t()\n", "or @term() for values"),
        ("def compute_score(source, text, truth):\n    return 0.0\n", "`rewardkit compare"),
    ],
)
def test_what_a_first_file_gets_wrong_is_said(body: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(f"from rewardkit import Sample, term\n\n\n{body}")
    with pytest.raises(ConfigError) as raised:
        load_reward(str(tmp_path / "first.py"))
    assert says in str(raised.value)


def test_data_in_the_place_of_the_reward(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").touch()
    with pytest.raises(ConfigError, match="the reward comes before the data"):
        load_reward(str(tmp_path / "rows.jsonl"))


def test_a_formula_error_stays_one() -> None:
    with pytest.raises(FormulaError):
        load_reward("length(0.1) + ends_with()")
