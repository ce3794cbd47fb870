"""A formula as OpenRLHF's reward function: loaded from a file and read as OpenRLHF does."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rewardkit.errors import CompileError, DataError, UnscoredError
from trainer_glue.adapters.openrlhf import reward_func_of

torch = pytest.importorskip("torch")

PROMPT = "<|im_start|>user\n6 * 7?<|im_end|>\n<|im_start|>assistant\n"
FILE = """
from trainer_glue.adapters.openrlhf import reward_func_of
reward_func = reward_func_of("gsm8k() + 0.1 * ends_with('.?!', min_words=0)")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_reward.py"
    path.write_text(FILE)
    return path


def loaded(path: Path) -> Callable[..., dict[str, Any]]:
    spec = importlib.util.spec_from_file_location("reward_func", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reward_func  # type: ignore[no-any-return]


def test_the_response_is_what_follows_the_prompt_up_to_the_end_marks(file: Path) -> None:
    texts = ["It is 42.<|im_end|>", "It is 42.<|im_end|>\n<|endoftext|><|endoftext|>", "43<|im_end|>", ""]
    paid = loaded(file)([PROMPT + text for text in texts], [PROMPT] * 4, ["42"] * 4)
    assert paid["rewards"].tolist() == pytest.approx([1.1, 1.1, 0, 0])
    assert paid["scores"].tolist() == pytest.approx([1, 1, 0, 0])
    logs = {name: values.tolist() for name, values in paid["extra_logs"].items()}
    assert logs["ends_with"] == [1, 1, 0, 0] and logs["gsm8k/status"] == [0, 0, 0, 2] and logs["unscored"] == [0] * 4


def test_both_ways_in_which_openrlhf_reads_the_answer(file: Path) -> None:
    reward_func = loaded(file)
    one = [reward_func([PROMPT + text], [PROMPT], ["42"], sandbox=None) for text in ("42.<|im_end|>", "no<|im_end|>")]
    # up to 0.8.11: all answers joined
    assert torch.cat([answer["rewards"] for answer in one], dim=0).tolist() == pytest.approx([1.1, 0])
    # from 0.9 on: a tensor of the one, and a number out of every log
    assert torch.tensor([one[0]["rewards"]]).tolist() == pytest.approx([1.1])
    assert {name: values.flatten()[0].item() for name, values in one[0]["extra_logs"].items()}["ends_with"] == 1.0


def test_a_query_that_does_not_begin_with_its_prompt_is_an_error(file: Path) -> None:
    with pytest.raises(DataError, match="does not begin with its prompt"):
        loaded(file)([PROMPT[5:] + "42"], [PROMPT], ["42"])


def test_an_unscored_row_is_counted_and_too_many_end_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    reward_func = reward_func_of("gsm8k()", unscored_limit=0.5)
    paid = reward_func([PROMPT + "#### 4"] * 3, [PROMPT] * 3, ["4", "four?", "5"])
    assert paid["rewards"].tolist() == [1, 0.5, 0], "the mean of the prompt's scored rows"
    assert paid["extra_logs"]["unscored"].tolist() == [0, 1, 0]
    assert "gsm8k could not score a row" in capsys.readouterr().err
    with pytest.raises(UnscoredError, match="so far could not be scored"):
        for _ in range(60):
            reward_func([PROMPT + "#### 4"], [PROMPT], ["four?"])


@pytest.mark.parametrize(
    "formula",
    [
        "group_rank(length())",
        "batch_zscore(length())",
        "length().spread()",
        "route({'a': gsm8k()})",
        "schedule({0: 1}) * length()",
    ],
)
def test_what_the_trainer_cannot_carry_is_refused(formula: str) -> None:
    with pytest.raises(CompileError, match="OpenRLHF hands over"):
        reward_func_of(formula)


def test_ray_takes_it_as_older_versions_need(file: Path) -> None:
    cloudpickle = pytest.importorskip("ray.cloudpickle")
    ray = pytest.importorskip("ray")
    reward_func = loaded(file)
    ray.remote(reward_func)  # takes functions and classes only
    again = cloudpickle.loads(cloudpickle.dumps(reward_func))
    assert again([PROMPT + "42"], [PROMPT], ["42"])["rewards"].tolist() == [1.0]


def test_openrlhf_s_own_executor_loads_and_calls_it(file: Path) -> None:
    agent = pytest.importorskip("openrlhf.utils.agent", reason="needs OpenRLHF: pip install openrlhf")

    class Tokenizer:
        """Characters as tokens; the last one ends a response."""

        def __call__(self, text: str, **_: Any) -> dict[str, Any]:
            return {"input_ids": torch.tensor([[ord(c) for c in text]])}

        def decode(self, tokens: list[int], skip_special_tokens: bool) -> str:
            assert not skip_special_tokens
            return "".join(map(chr, tokens)).replace("\0", "<|im_end|>")

    class Engine:
        async def generate(self, tokens: list[int], *_: Any, **__: Any) -> Any:
            said = [ord(c) for c in "It is 42.\0"]
            return SimpleNamespace(outputs=[SimpleNamespace(token_ids=said, finish_reason="stop", logprobs=None)])

    executor = agent.SingleTurnAgentExecutor([str(file)])
    sampling = SimpleNamespace(max_tokens=64, logprobs=None)
    paid = asyncio.run(executor.execute(PROMPT, "42", sampling, 4096, Tokenizer(), Engine()))
    assert paid["reward"].item() == pytest.approx(1.1)
    assert paid["scores"].item() == pytest.approx(1.0)
    assert paid["extra_logs"]["gsm8k"].item() == 1.0
