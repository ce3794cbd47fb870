"""What a tool wrote is never scored and never gets a reward, on every way from verl to a formula."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("verl")

from rewardkit import Batch, Sample, Status, compile, length, parse, term
from rewardkit.engine.detokenizer import Decoder
from tests.trainer_glue.verl.test_manager import run
from tests.trainer_glue.verl.trajectories import (
    COLUMNS,
    TOKENIZER,
    Loop,
    Parts,
    batch_of,
    item,
    output_of,
    tokens_of,
    tool_text,
)
from trainer_glue.verl import RewardManager
from trainer_glue.verl.own import OWN, own_turns

SHAPED = "(gsm8k() + 0.1 * ends_with('.?!')).on('####') + 0.01 * length(unit='tokens').spread() + 0.1 * repetition(n=2)"
CALLS, LOOKS, SAYS = "I add them up.", "Let me see it.", "So it is four. #### 4."


def manager(formula: Any, **options: Any) -> RewardManager:
    return RewardManager(tokenizer=TOKENIZER, reward=formula, **options)


def wired(formula: str) -> Any:
    """A manager and the worker that tells it whose tokens are whose."""
    from trainer_glue.verl.agent_loop import AgentLoopWorker

    m = manager(formula)
    return m, Loop(m, AgentLoopWorker)


def with_tools(turns: Sequence[str], rng: random.Random) -> Parts:
    parts: list[tuple[bool, str]] = []
    for turn in turns:
        parts += [(True, turn), (False, tool_text(rng))]
    return parts if rng.random() < 0.5 else parts[:-1]


def on_own(tensor: Any, data: Any) -> list[list[float]]:
    """The rewards of each row's own tokens; fails where one stands on another token."""
    own = data.batch["response_mask"].bool()
    assert not tensor[~own].any()
    return [line[mask].tolist() for line, mask in zip(tensor, own, strict=True)]


def test_an_answer_that_only_the_tool_gave_is_none() -> None:
    parts = [(True, "I ask the calculator."), (False, "#### 4.")]
    formula = "gsm8k() + 0.1 * ends_with('.?!')"
    data = batch_of([parts])
    out = manager(formula)(data, return_dict=True)
    assert out["reward_tensor"].sum().item() == pytest.approx(0.1)
    assert out["reward_extra_info"]["gsm8k/status"] == [Status.NO_ANSWER]
    last = int(data.batch["response_mask"][0].nonzero()[-1])
    assert out["reward_tensor"][0].nonzero().flatten().tolist() == [last]


def test_the_last_turn_that_says_something_is_scored() -> None:
    ends_in_silence = [(True, SAYS), (False, "#### 5"), (True, ""), (False, "error"), (True, "  ")]
    tensor = manager("gsm8k() + 0.01 * length()")(batch_of([ends_in_silence, [(True, "#### 4")], [(False, "#### 4")]]))
    assert tensor.sum(-1).tolist() == pytest.approx([1.06, 1.02, 0.0])


def test_a_pattern_counts_the_policy_s_tokens_only() -> None:
    parts = [(True, "a b"), (False, "#### 5 #### 6 é"), (True, "so #### 4 done")]
    data = batch_of([parts])
    tensor = manager("gsm8k().on('#### \\\\d')")(data)
    (at,) = tensor[0].nonzero().flatten().tolist()
    before, _ = tokens_of([*parts[:2], (True, "so #### 4")])
    assert at == len(before) - 2  # its end-of-turn token left out
    assert tensor[0, at].item() == 1.0


def test_a_value_is_shared_among_all_of_the_policy_s_tokens_and_no_tool_s() -> None:
    data = batch_of([[(True, CALLS), (False, "word " * 30), (True, SAYS)]])
    (values,) = on_own(manager("gsm8k().spread()")(data), data)
    assert values == pytest.approx([1 / len(values)] * len(values))


@pytest.mark.parametrize("rows", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_whatever_tools_write_a_whole_batch_gets_the_same_rewards(rows: int) -> None:
    rng = random.Random(rows)
    turns = [[CALLS, LOOKS, SAYS], [SAYS], [CALLS, ""], [LOOKS, "#### 5"], ["#### 4 #### 5 #### 6", "#### 4"]]
    m = manager(SHAPED)
    first = batch_of([[p for t in own for p in ((True, t), (False, "x"))] for own in turns])
    expected = on_own(m(first), first)
    assert len({sum(line) for line in expected}) > 2
    for start in range(0, rows, 50):
        data = batch_of([with_tools(turns[i % len(turns)], rng) for i in range(start, start + 50)])
        for i, found in enumerate(on_own(m(data), data)):
            assert found == pytest.approx(expected[(start + i) % len(turns)], abs=1e-6)


@pytest.mark.parametrize("rows", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_whatever_tools_write_the_reward_loop_answers_the_same(rows: int) -> None:
    rng = random.Random(rows)
    turns = [[CALLS, LOOKS, SAYS], [SAYS], [CALLS, ""], [LOOKS, "#### 5"], ["#### 4 #### 5 #### 6", "#### 4"]]
    formula = "gsm8k() + 0.1 * ends_with('.?!') + 0.01 * length() + 0.001 * length(unit='tokens')"
    _, loop = wired(formula)
    texts = ["x" * n for n in range(5)]
    spoken = [
        output_of([p for t in own for p in ((True, t), (False, text))]) for own, text in zip(turns, texts, strict=True)
    ]
    loop.score([[o] for o in spoken])
    for start in range(0, rows, 50):
        outputs = [output_of(with_tools(turns[i % len(turns)], rng)) for i in range(start, start + 50)]
        loop.score([[o] for o in outputs])
        for i, output in enumerate(outputs):
            same = spoken[(start + i) % len(turns)]
            assert output.reward_score == pytest.approx(same.reward_score)
            assert numbers(output) == numbers(same)


def numbers(output: Any) -> dict[str, Any]:
    return {k: v for k, v in output.extra_fields["reward_extra_info"].items() if not k.endswith("/ms")}


def test_the_reward_loop_sees_the_mask_of_the_last_output_and_leaves_none_behind() -> None:
    _, loop = wired("gsm8k() + 0.01 * length()")
    first = output_of([(True, "#### 4 is what I say"), (False, "#### 5")])
    last = output_of([(True, "two words"), (False, "#### 4")])
    loop.score([[first, last]])
    assert last.reward_score == pytest.approx(0.02)
    assert last.extra_fields[OWN] is None
    assert last.extra_fields["turn_scores"] == [0.25]


def test_without_a_mask_a_row_of_several_turns_is_not_paid_what_a_tool_wrote() -> None:
    from tests.trainer_glue.verl.test_manager import config

    parts = [(True, CALLS), (False, "#### 4")]
    (left,) = run(RewardManager(config=config(), tokenizer=TOKENIZER, reward="gsm8k()"), item(parts))
    info = left["reward_extra_info"]
    assert (left["reward_score"], info["gsm8k/status"], info["unscored"]) == (0.0, None, 1.0)
    (one,) = run(manager("gsm8k()"), item([(True, "#### 4")]))
    assert one["reward_extra_info"].keys() == info.keys()
    assert one["reward_score"] == 1.0


def test_without_a_sampler_it_is_an_error_that_names_the_fix(capfd: pytest.CaptureFixture[str]) -> None:
    (result,) = run(manager("gsm8k()"), item([(True, CALLS), (False, "#### 4")]))
    assert result["reward_extra_info"]["gsm8k/status"] == Status.ERROR
    assert "agent_loop_manager_class=trainer_glue.verl.AgentLoopManager" in capfd.readouterr().err


def test_turns_are_the_runs_of_a_mask() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        own = rng.random(rng.integers(0, 20)) < rng.random()
        turns = own_turns(own)
        inside = np.zeros(len(own), dtype=bool)
        for turn in turns:
            assert turn.start < turn.stop
            inside[turn] = True
        assert (inside == own).all()
        assert all(a.stop < b.start for a, b in itertools.pairwise(turns))


def test_the_sum_over_tokens_is_the_total_for_any_mask_with_holes() -> None:
    """The program on the scored turn alone is the reference: its placement, moved to where the turn stands."""
    rng = random.Random(1)
    decoder = Decoder(TOKENIZER)
    program = compile(parse("(length() - 3).on('word') + 0.5 * length().spread() + ends_with('.')"))
    for _ in range(60):
        parts = with_tools([tool_text(rng) or "a" for _ in range(rng.randrange(1, 4))], rng)
        data = batch_of([parts])
        out = manager(repr(program.reward))(data)
        tokens, mask = tokens_of(parts)
        turns = [t for t in own_turns(np.asarray(mask, dtype=bool)) if decoder([tokens[t]])[0].strip()]
        text = decoder([tokens[turns[-1]]])[0] if turns else ""
        total = program(Batch([text], ground_truths=[COLUMNS["reward_model"]["ground_truth"]])).total[0]
        assert sum(on_own(out, data)[0]) == pytest.approx(total, abs=1e-5)


@term(bounds=(0, None), needs=("turns",))
def spoken(sample: Sample) -> float:
    assert sample.turns is not None
    return float(sum(100 if turn.own else 1 for turn in sample.turns if turn.text.strip()))


def test_a_term_sees_all_turns_in_both_ways_of_asking() -> None:
    from trainer_glue.verl.agent_loop import AgentLoopWorker

    turns = [[(True, CALLS), (False, "4"), (True, SAYS), (False, "thanks")], [(True, SAYS)]]
    m = manager(spoken())
    assert m(batch_of(turns)).sum(-1).tolist() == [202.0, 100.0]
    outputs = [output_of(parts) for parts in turns]
    Loop(m, AgentLoopWorker).score([[output] for output in outputs])
    assert [output.reward_score for output in outputs] == [202.0, 100.0]


def test_the_environment_s_own_scores_are_terms() -> None:
    formula = "0.5 * column('turn_scores', low=0, high=1) + column('tool_rewards', low=0, high=1) + 0 * turn_count()"
    _, loop = wired(formula)
    output = output_of([(True, CALLS), (False, "4"), (True, SAYS)])
    loop.score([[output]])
    assert output.reward_score == pytest.approx(0.5 * 0.25 + 0.5)
    assert output.extra_fields["reward_extra_info"]["turn_count"] == 2.0
    (missing,) = run(manager("column('turn_scores', low=0, high=1)"), item([(True, SAYS)]))
    assert missing["reward_extra_info"]["column/status"] == Status.BAD_GOLD
    given = item([(True, SAYS)], extra_info={"turn_scores": [0.25, 0.5]})
    assert run(manager("column('turn_scores', low=0, high=1)"), given)[0]["reward_score"] == 0.75


def test_a_term_sees_the_turns_of_all_outputs_of_a_trajectory() -> None:
    outputs: list[Parts] = [
        [(True, CALLS), (False, "#### 4")], [(True, LOOKS)], [(True, SAYS), (False, "thanks"), (True, "")]
    ]  # fmt: skip
    said = len(SAYS.split())
    for formula, expected in {"turn_count() + 0.01 * length()": 4 + 0.01 * said, "length()": said}.items():
        _, loop = wired(formula)
        made = [output_of(parts) for parts in outputs]
        loop.score([made])
        assert made[-1].reward_score == pytest.approx(expected), "the last output is what is scored"


@pytest.mark.parametrize("leak", ["#### 4.", "#### 4", "4.", "final #### 4."])
def test_a_tool_s_answer_behind_the_last_word_is_neither_read_nor_the_place_of_the_reward(leak: str) -> None:
    """Attention is on a tool's tokens, too: a reward that goes by it pays the leak, and pays it where it stands."""
    parts = [(True, "assistant final."), (False, leak)]
    formula = "gsm8k() + 0.1 * ends_with('.?!')"
    data = batch_of([parts])
    tensor = manager(formula)(data)
    alone = manager(formula)(batch_of([parts[:1]]))
    assert tensor.sum().item() == alone.sum().item() == pytest.approx(0.1)
    (at,) = tensor[0].nonzero().flatten().tolist()
    assert at == int(data.batch["response_mask"][0].nonzero()[-1])
    _, loop = wired(formula)
    output = output_of(parts)
    loop.score([[output]])
    assert output.reward_score == pytest.approx(0.1)


def test_a_penalty_on_length_does_not_count_a_tool_s_tokens() -> None:
    """A span from the first to the last own token counts what tools wrote between, and makes calls expensive."""
    for words in (0, 5, 500):
        parts = [(True, CALLS), (False, "word " * words), (True, SAYS)]
        tokens = len(tokens_of(parts[2:])[0])
        for most, expected in ((tokens, -1.0), (tokens + 5, -0.5), (tokens + 10, 0.0)):
            formula = f"overlong({most}, 10)"
            assert manager(formula)(batch_of([parts])).sum().item() == pytest.approx(expected)
            _, loop = wired(formula)
            output = output_of(parts)
            loop.score([[output]])
            assert output.reward_score == pytest.approx(expected)


@term(bounds=(None, 0), per_token=True)
def each(sample: Sample) -> list[float]:
    """A penalty on every token, as a KL penalty is."""
    assert sample.tokens is not None
    return [-1.0] * len(sample.tokens)


def test_what_is_paid_for_each_token_does_not_add_up_over_a_tool_s() -> None:
    """Returns sum what comes later: a value on a tool's token would reach every turn before it."""
    returns = []
    for words in (1, 40):
        data = batch_of([[(True, CALLS), (False, "word " * words), (True, SAYS)]])
        tensor = manager(each() + length().spread())(data)
        (own,) = on_own(tensor, data)
        returns.append(np.cumsum(own[::-1])[::-1])
    assert returns[0] == pytest.approx(returns[1])
    assert returns[0][-len(tokens_of([(True, SAYS)])[0])] < 0
