"""Sampling parameters as verl's agent loops send them, and the choice of a token."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from rewardkit.errors import ConfigError
from trainer_glue.verl.cpu.sampling import Chooser, Sampling, derive_seed, stream

VOCABULARY = 6


def read(**params: Any) -> Sampling:
    return Sampling.read(params, max_tokens=32, ignore_eos=False)


def test_what_an_agent_loop_sends_is_understood() -> None:
    sampling = read(temperature=0.7, top_p=0.9, top_k=-1, repetition_penalty=1.0, logprobs=True, stop=None)
    assert (sampling.temperature, sampling.top_p, sampling.max_tokens) == (0.7, 0.9, 32)
    assert sampling.logprobs


@pytest.mark.parametrize("name", ["max_tokens", "max_new_tokens"])
def test_a_length_is_cut_to_what_fits(name: str) -> None:
    assert read(**{name: 8}).max_tokens == 8
    assert read(**{name: 800}).max_tokens == 32


def test_one_stop_text_is_not_taken_for_its_letters() -> None:
    assert read(stop="END").stop == ("END",)
    assert read(stop=["a", "b"]).stop == ("a", "b")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"temprature": 1.0}, "did you mean 'temperature'"),
        ({"n": 2}, "'n' is not supported"),
        ({"temperature": -0.1}, "temperature is -0.1; expected 0 or more"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"top_k": -2}, "top_k is -2"),
        ({"min_p": 1.5}, "min_p is 1.5"),
        ({"repetition_penalty": 0.0}, "repetition_penalty is 0.0"),
        ({"max_tokens": 0}, "max_tokens is 0"),
    ],
)
def test_what_is_unknown_or_out_of_range_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(**params)


def choose(logits: list[float], *, rows: int = 1, unusable: tuple[int, ...] = (), mode: str = "", **params: Any) -> Any:
    """One step of `rows` rows with these logits."""
    mask = torch.zeros(VOCABULARY, dtype=torch.bool)
    mask[list(unusable)] = True
    sampling = [read(**params)] * rows
    uniforms = torch.stack([stream(row, 4) for row in range(rows)])
    prompt = params.pop("prompt", [[0]])
    chooser = Chooser(sampling, uniforms, mask, torch.ones(rows, 1), mode or "processed_logprobs")
    ids = torch.tensor(prompt * rows)
    left = chooser(ids, torch.tensor([logits] * rows))
    assert torch.equal(left.argmax(-1), chooser.tokens[:, -1]), "exactly the chosen token is left standing"
    assert (left > -torch.inf).sum() == rows
    return chooser


LOGITS = [2.0, 1.0, 0.5, 0.0, -1.0, -2.0]


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    rows = 20_000
    chooser = choose(LOGITS, rows=rows)
    shares = torch.bincount(chooser.tokens[:, 0], minlength=VOCABULARY) / rows
    expected = torch.tensor(LOGITS).softmax(-1)
    # Five standard deviations of a share.
    assert torch.all((shares - expected).abs() < 5 * (expected * (1 - expected) / rows).sqrt())


def test_temperature_shapes_what_is_drawn_and_its_log_probability() -> None:
    chooser = choose(LOGITS, rows=200, temperature=0.5)
    expected = (torch.tensor(LOGITS) / 0.5).log_softmax(-1)
    assert torch.allclose(chooser.log_probs, expected[chooser.tokens], atol=1e-6)


@pytest.mark.parametrize(
    ("params", "drawn"),
    [
        ({"top_k": 2}, {0, 1}),
        ({"top_p": 0.5}, {0}),
        ({"min_p": 0.3}, {0, 1}),
        ({"temperature": 0}, {0}),
        ({"unusable": (0, 3, 4, 5)}, {1, 2}),
        ({"temperature": 0, "unusable": (0,)}, {1}),
    ],
)
def test_only_what_may_be_drawn_is(params: dict[str, Any], drawn: set[int]) -> None:
    assert set(choose(LOGITS, rows=500, **params).tokens[:, 0].tolist()) == drawn


def test_raw_log_probabilities_are_the_models_own() -> None:
    chooser = choose(LOGITS, rows=100, temperature=0.5, top_k=2, mode="raw_logprobs")
    expected = torch.tensor(LOGITS).log_softmax(-1)
    assert torch.allclose(chooser.log_probs, expected[chooser.tokens], atol=1e-6)


def test_the_last_token_of_any_probability_is_never_overshot() -> None:
    uniforms = torch.full((1, 1), 1.0, dtype=torch.float64)  # as a product that rounds up would be
    mask = torch.zeros(VOCABULARY, dtype=torch.bool)
    mask[4:] = True
    chooser = Chooser([read()], uniforms, mask, torch.ones(1, 1), "processed_logprobs")
    chooser(torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, VOCABULARY))
    assert chooser.tokens.item() == 3


def test_repetition_is_punished_but_not_that_of_the_padding() -> None:
    mask = torch.zeros(VOCABULARY, dtype=torch.bool)
    sampling = [read(temperature=0, repetition_penalty=10.0)] * 2
    attention = torch.tensor([[0, 1], [1, 1]])
    chooser = Chooser(sampling, torch.zeros(2, 1, dtype=torch.float64), mask, attention, "processed_logprobs")
    # Token 0 leads. The first row has it as padding only; the second has seen it.
    chooser(torch.tensor([[0, 5], [0, 5]]), torch.tensor([LOGITS, LOGITS]))
    assert chooser.tokens[:, 0].tolist() == [0, 1]


def test_seeds_differ_by_all_that_they_are_made_of_and_by_nothing_else() -> None:
    base: dict[str, Any] = {"run": 1, "step": 2, "prompt": (3, 4), "occurrence": 0, "replica": 0}
    changes: list[dict[str, Any]] = [{"run": 2}, {"step": 3}, {"prompt": (3, 5)}, {"occurrence": 1}, {"replica": 1}]
    seeds = [derive_seed(**{**base, **change}) for change in [{}, *changes]]
    assert len(set(seeds)) == len(seeds)
    assert derive_seed(**base) == seeds[0]
    assert torch.equal(stream(seeds[0], 5), stream(seeds[0], 8)[:5]), "a longer wish draws the same beginning"
