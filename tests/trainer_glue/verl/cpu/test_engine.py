"""The engine against the model itself: the same probabilities, the right ends, nothing undecodable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from rewardkit.errors import ConfigError
from tests.trainer_glue.verl.cpu.models import SPARE, tiny_engine, tiny_model
from tests.trainer_glue.verl.tokenizers import byte_tokenizer
from trainer_glue.verl.cpu.engine import Completion, Engine, Request
from trainer_glue.verl.cpu.sampling import Sampling

PROMPTS = [(5, 6, 7), (8,), (9, 10, 11, 12, 13)]


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_model()


@pytest.fixture(scope="module")
def engine(model: Any) -> Engine:
    return tiny_engine(model)


def requests(prompts: Sequence[tuple[int, ...]] = PROMPTS, **params: Any) -> list[Request]:
    sampling = Sampling(**{"max_tokens": 12, "ignore_eos": True, "logprobs": True, **params})
    return [Request(prompt, sampling, seed) for seed, prompt in enumerate(prompts)]


def teacher_forced(model: Any, prompt: tuple[int, ...], completion: Completion, temperature: float) -> torch.Tensor:
    """Log-probabilities of a response from one forward pass without padding or cache, spare ids masked."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*prompt, *completion.tokens]])).logits[0, len(prompt) - 1 : -1].float()
    logits[:, -SPARE:] = -torch.inf
    return (logits / temperature).log_softmax(-1).gather(-1, torch.tensor(completion.tokens)[:, None])[:, 0]


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probabilities_equal_a_teacher_forced_forward(model: Any, engine: Engine, temperature: float) -> None:
    for request, completion in zip(requests(), engine.generate(requests(temperature=temperature)), strict=True):
        expected = teacher_forced(model, request.prompt, completion, temperature)
        assert torch.allclose(torch.tensor(completion.log_probs), expected, atol=1e-4)


def test_greedy_is_the_models_own_greedy(model: Any, engine: Engine) -> None:
    for request, completion in zip(requests(), engine.generate(requests(temperature=0)), strict=True):
        ids = list(request.prompt)
        for token in completion.tokens:
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([ids])).logits[0, -1]
            assert token == int(logits[:-SPARE].argmax())
            ids.append(token)


def test_a_row_does_not_depend_on_who_shares_its_batch(engine: Engine) -> None:
    together = engine.generate(requests())
    alone = [engine.generate([request])[0] for request in requests()]
    assert [c.tokens for c in together] == [c.tokens for c in alone]


def test_a_seed_repeats_and_another_does_not(engine: Engine) -> None:
    sampling = Sampling(max_tokens=12, ignore_eos=True)
    rows = engine.generate([Request((5, 6), sampling, 1), Request((5, 6), sampling, 1), Request((5, 6), sampling, 2)])
    assert rows[0].tokens == rows[1].tokens != rows[2].tokens


def test_every_drawn_id_decodes() -> None:
    # All logits equal: unmasked, a sixteenth of the draws would be spare ids.
    flat = tiny_model()
    with torch.no_grad():
        for parameter in flat.parameters():
            parameter.zero_()
    drawn = {token for row in tiny_engine(flat).generate(requests([(5,)] * 64)) for token in row.tokens}
    assert drawn <= set(byte_tokenizer().get_vocab().values())
    assert len(drawn) > len(byte_tokenizer()) / 2


def greedy(engine: Engine, **params: Any) -> Completion:
    return engine.generate(requests(PROMPTS[:1], temperature=0, **params))[0]


def test_each_kind_of_end(model: Any, engine: Engine) -> None:
    free = greedy(engine)
    assert (len(free.tokens), free.reason) == (12, "length")
    ender = free.tokens[4]
    cut = free.tokens.index(ender) + 1
    assert greedy(engine, stop_token_ids=(ender,)) == Completion(free.tokens[:cut], free.log_probs[:cut], "completed")
    other_eos = tiny_engine(model, eos=[ender, 0])
    assert greedy(other_eos, ignore_eos=False).tokens == free.tokens[:cut]
    assert greedy(other_eos, ignore_eos=True).tokens == free.tokens
    late = greedy(engine, stop_token_ids=(ender,), min_tokens=cut + 1)
    assert len(late.tokens) > cut
    assert greedy(engine, max_tokens=3) == Completion(free.tokens[:3], free.log_probs[:3], "length")


def test_a_stop_text_ends_the_response_where_it_is_complete(engine: Engine) -> None:
    free = greedy(engine)
    tokenizer = byte_tokenizer()
    texts = [tokenizer.decode(free.tokens[: n + 1], skip_special_tokens=True) for n in range(12)]
    stop = texts[6][-2:]
    ended = greedy(engine, stop=("never this", stop))
    assert ended.reason == "completed"
    assert stop in tokenizer.decode(ended.tokens) and stop not in tokenizer.decode(ended.tokens[:-1])


def test_rows_of_one_batch_keep_their_own_ends(engine: Engine) -> None:
    wishes = [Sampling(max_tokens=n, ignore_eos=True) for n in (2, 9, 5)]
    rows = engine.generate([Request(p, s, 0) for p, s in zip(PROMPTS, wishes, strict=True)])
    assert [len(row.tokens) for row in rows] == [2, 9, 5]
    assert [len(row.log_probs) for row in rows] == [2, 9, 5]


def test_an_abort_hands_back_what_there_is(engine: Engine) -> None:
    engine.abort.set()
    try:
        row = engine.generate(requests([(5,)]))[0]
    finally:
        engine.abort.clear()
    assert (len(row.tokens), row.reason) == (1, "aborted")


def test_weights_may_come_in_parts_and_tied_names_once() -> None:
    model = tiny_model(tie_word_embeddings=True)
    engine = Engine(model.config, byte_tokenizer())
    items = [(name, tensor) for name, tensor in model.state_dict().items() if name != "lm_head.weight"]
    engine.load(items[:5], last=False)
    with pytest.raises(RuntimeError, match="before the trainer has sent"):
        engine.generate(requests())
    engine.load(items[5:], last=True)
    assert [c.tokens for c in engine.generate(requests())] == [
        c.tokens for c in tiny_engine(model).generate(requests())
    ]


def test_weights_that_do_not_fit_are_refused(model: Any) -> None:
    items = dict(model.state_dict())
    first = "model.layers.0.mlp.up_proj.weight"
    with pytest.raises(ValueError, match=r"sent no weights for .*up_proj"):
        Engine(model.config, byte_tokenizer()).load([i for i in items.items() if i[0] != first], last=True)
    with pytest.raises(ValueError, match="sent nonsense with shape"):
        Engine(model.config, byte_tokenizer()).load([("nonsense", torch.zeros(2))], last=False)
    with pytest.raises(ValueError, match=r"has shape \(48, 32\)"):
        Engine(model.config, byte_tokenizer()).load([(first, torch.zeros(2))], last=False)


def test_bfloat16_weights_stay_bfloat16(model: Any) -> None:
    engine = tiny_engine(model, dtype=torch.bfloat16)
    assert {p.dtype for p in engine.model.parameters()} == {torch.bfloat16}
    assert len(engine.generate(requests())) == len(PROMPTS)


def test_an_unknown_logprobs_mode_is_refused(model: Any) -> None:
    with pytest.raises(ConfigError, match="logprobs_mode is 'raw_logits'"):
        Engine(model.config, byte_tokenizer(), mode="raw_logits")
