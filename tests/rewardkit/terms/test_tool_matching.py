"""Tool calls against those that a row wants: every form, BFCL's rows, verl's ToolRL reward, and laws of the score."""

from __future__ import annotations

import importlib.util
import itertools
import json
import keyword
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Batch, Sample, Status, compile, parse
from rewardkit.errors import ParameterError
from rewardkit.terms.calling.call import Call
from rewardkit.terms.calling.matching import share
from rewardkit.terms.calling.wanted import wanted_calls
from rewardkit.turns import turns_of

ALL, SHARE, ORDERED = (
    compile(f"tool_call_match({arguments})") for arguments in ("", "pay='share'", "pay='share', order=True")
)


def paid(response: str, ground_truth: Any, program: Any = ALL) -> float:
    scores = program(Batch([response], ground_truths=[ground_truth]))
    assert Status(int(scores.status[0])) is Status.SCORED, scores.first_reason()
    return float(scores.total[0])


def written(calls: list[Call]) -> dict[str, str]:
    """Calls in each of the forms."""
    entries = [{"name": c.name, "arguments": c.arguments} for c in calls]
    llama = [{"name": c.name, "parameters": c.arguments} for c in calls]
    functions = [
        {"type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}} for c in calls
    ]
    python = [f"{c.name}({', '.join(f'{k}={v!r}' for k, v in c.arguments.items())})" for c in calls]
    return {
        "hermes": "I look.\n" + "\n".join(f"<tool_call>\n{json.dumps(e)}\n</tool_call>" for e in entries),
        "openai": json.dumps({"tool_calls": functions}),
        "list": json.dumps(entries),
        "fenced": f"```json\n{json.dumps(entries)}\n```",
        "llama": "<|python_tag|>" + "; ".join(map(json.dumps, llama)),
        **({"python": "<think>Two calls.</think>\n[" + ", ".join(python) + "]"} if all(map(is_python, calls)) else {}),
    }


def is_python(call: Call) -> bool:
    """Whether Python's syntax has the call: it has none with an argument `from`."""
    names = [*call.name.split("."), *call.arguments]
    return all(name.isidentifier() and not keyword.iskeyword(name) for name in names)


BFCL = [
    "simple_python", "multiple", "parallel", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple",
    "simple_java", "simple_javascript",
]  # fmt: skip


def bfcl(category: str) -> list[list[dict[str, Any]]]:
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or spec.origin is None:
        pytest.skip("needs the package bfcl-eval, which ships the rows: pip install --no-deps bfcl-eval")
    path = Path(spec.origin).parent / "data" / "possible_answer" / f"BFCL_v4_{category}.json"
    truths = [json.loads(line)["ground_truth"] for line in path.read_text().splitlines()]
    return [truth for truth in truths if not accepts_nothing(truth)]


def accepts_nothing(truth: list[dict[str, Any]]) -> bool:
    """Two of BFCL's rows have arguments that may neither be given nor left out."""
    return any([] in table.values() for entry in truth for table in entry.values())


def first(options: list[Any]) -> Any:
    """An accepted value, tables inside it resolved; the empty text where an argument can only be left out."""
    return resolved(next((option for option in options if option != ""), ""))


def resolved(value: Any) -> Any:
    if isinstance(value, list):
        return [resolved(v) for v in value]
    if isinstance(value, dict) and value and all(isinstance(options, list) for options in value.values()):
        return {key: first(options) for key, options in value.items() if first(options) != ""}
    return value


def accepted(truth: list[dict[str, Any]]) -> list[Call]:
    return [
        Call(name, {a: first(options) for a, options in table.items() if first(options) != ""})
        for entry in truth
        for name, table in entry.items()
    ]


def variants(truth: list[dict[str, Any]]) -> Iterator[list[Call]]:
    """Accepted answers: every accepted value once, arguments that may be left out left out, and calls turned round."""
    calls = accepted(truth)
    yield calls
    yield calls[::-1]
    for i, entry in enumerate(truth):
        ((name, table),) = entry.items()
        for argument, options in table.items():
            for option in options:
                changed = dict(calls[i].arguments)
                changed.pop(argument, None)
                if option != "":
                    changed[argument] = resolved(option)
                yield [*calls[:i], Call(name, changed), *calls[i + 1 :]]


def mutations(truth: list[dict[str, Any]], rng: random.Random) -> Iterator[tuple[str, list[Call]]]:
    calls = accepted(truth)
    i = rng.randrange(len(calls))
    name, table = calls[i].name, truth[i][calls[i].name]

    def changed(arguments: dict[str, Any]) -> list[Call]:
        return [*calls[:i], Call(name, arguments), *calls[i + 1 :]]

    arguments = calls[i].arguments
    if required := [a for a in arguments if "" not in table[a]]:
        dropped = rng.choice(required)
        yield "argument dropped", changed({a: v for a, v in arguments.items() if a != dropped})
    yield "argument added", changed({**arguments, "not_of_this_tool": 1})
    if arguments:
        argument = rng.choice([*arguments])
        value = arguments[argument]
        other = [value] if isinstance(value, str) else json.dumps(value)
        if other not in table[argument]:  # BFCL accepts 20.5 and "20.5" in one place
            yield "wrong type", changed({**arguments, argument: other})
        other = not value if isinstance(value, bool) else value + 1234.5 if isinstance(value, int | float) else None
        other = f"{value}?" if isinstance(value, str) else other
        other = [*value, "one more"] if isinstance(value, list) else other
        other = {**value, "one more": 1} if isinstance(value, dict) else other
        if other not in table[argument]:
            yield "wrong value", changed({**arguments, argument: other})
    yield "call dropped", calls[:i] + calls[i + 1 :]
    yield "call added", [*calls, calls[i]]


@pytest.mark.parametrize("rows", [25, pytest.param(None, marks=pytest.mark.long)])
@pytest.mark.parametrize("category", BFCL)
def test_bfcl_accepted_answers_are_paid_and_mutations_are_not(category: str, rows: int | None) -> None:
    rng, tried = random.Random(category), Counter()
    truths = bfcl(category)
    for truth in truths if rows is None else rng.sample(truths, min(rows, len(truths))):
        texts = [text for calls in variants(truth) for text in written(calls).values()]
        scores = ALL(Batch(texts, ground_truths=[truth] * len(texts)))
        assert (scores.total == 1).all(), (truth, texts[int(scores.total.argmin())])
        for kind, calls in mutations(truth, rng):
            tried[kind] += 1
            text = rng.choice([*written(calls).values()])
            assert paid(text, truth) == 0, (kind, truth, text)
            assert paid(text, json.dumps(truth), SHARE) < 1, (kind, truth, text)
    assert len(tried) == 6


def test_no_call_is_a_ground_truth_of_its_own() -> None:
    for none in ([], "[]", {"tool_calls": []}, '{"tool_calls": []}'):
        assert paid("I can't do that with these tools.", none) == 1
        assert paid('{"answer": [1, 2]}', none) == 1
        assert paid("f(x) is a function (see above)", none) == 1
        for calls in ([Call("f", {})], [Call("f", {"a": 1}), Call("g", {})]):
            assert {paid(text, none) for text in written(calls).values()} == {0}
        assert paid('<tool_call>{"name": "f", "arguments": </tool_call>', none) == 0  # it meant to call
        assert paid("[f(a=1), g(", none) == 1  # cut off before the bracket: prose to every parser
        assert paid("[f(a=1), g(]", none) == 0


def test_structured_calls_of_the_turns_are_read() -> None:
    truth = [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]
    chat = [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"role": "tool", "content": '<tool_call>{"name": "g", "arguments": {}}</tool_call>'},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "g", "arguments": ""}}]},
        {"role": "assistant", "content": "Done."},
    ]

    def total(turns: list[dict[str, Any]]) -> float:
        return float(SHARE(Batch.of([Sample("Done.", truth, turns=turns_of(turns))])).total[0])

    assert total(chat) == 1
    assert total([chat[0], chat[1], chat[3]]) == pytest.approx(2 / 3)  # what the tool wrote is no call of the policy's
    assert total([*chat, chat[2]]) == pytest.approx(3 / 4)


def test_ground_truths_in_every_shape_want_the_same() -> None:
    calls = [Call("f", {"a": 1, "b": [True, None]}), Call("f", {"a": 2})]
    response = written(calls)["hermes"]
    entries = [{"name": c.name, "arguments": c.arguments} for c in calls]
    tables = [{c.name: {a: [v] for a, v in c.arguments.items()}} for c in calls]
    shapes = [
        entries, json.dumps(entries), {"tool_calls": entries}, [{"function": e} for e in entries], tables,
        json.dumps(tables), ["f(a=1, b=[True, None])", "f(a=2)"], *written(calls).values(),
        [{**tables[0], "g": None}, {**tables[1], "g": None}],
    ]  # fmt: skip
    for shape in shapes:
        assert paid(response, shape) == 1, shape
        assert paid(written(calls[:1])["hermes"], shape) == 0, shape


@pytest.mark.parametrize(
    "ground_truth",
    [
        "",
        "no",
        "4",
        4,
        True,
        [4],
        ["f(1)"],
        [{"f": {"a": 1}}],
        [{"f": {"a": []}}],
        [{"f": {"a": [1], "b": []}}],
        [{"name": "f"}],
        {},
    ],
)
def test_what_wants_no_calls_and_is_not_empty_is_no_ground_truth(ground_truth: Any) -> None:
    for program in (ALL, compile("tool_call_match(compat='rlla')")):
        if program is ALL or not isinstance(ground_truth, str):
            scores = program(Batch(["No."], ground_truths=[ground_truth]))
            assert Status(int(scores.status[0])) is Status.BAD_GOLD


values = st.sampled_from([0, 1, True, "1", "x", None, [1], {"a": 1}])
arguments = st.dictionaries(st.sampled_from("abc"), values, max_size=3)
some_calls = st.lists(st.builds(Call, st.sampled_from(["f", "g"]), arguments), max_size=4)
tables = st.builds(
    lambda name, table: {name: table},
    st.sampled_from(["f", "g"]),
    st.dictionaries(st.sampled_from("abc"), st.lists(values | st.just(""), min_size=1, max_size=3), max_size=3),
)


@given(some_calls, st.lists(tables, max_size=4), st.data(), values)
def test_an_extra_argument_or_call_never_raises_the_score(
    calls: list[Call], truth: list[Any], data: st.DataObject, value: Any
) -> None:
    wanted = wanted_calls(truth)
    optional = {argument for w in wanted for argument in w.optional}
    required = {argument for w in wanted for argument in w.accepted} - optional
    for in_order in (False, True):
        before = share(calls, wanted, in_order=in_order)
        more = [*calls, Call(data.draw(st.sampled_from(["f", "h"])), {"a": value})]
        if len(calls) >= len(wanted) and not in_order:
            perfect = before == 1
            assert not perfect or share(more, wanted, in_order=in_order) < 1
        for i, call in enumerate(calls):
            for extra in ({"d"} | optional) - required - call.arguments.keys():
                longer = [*calls[:i], Call(call.name, {**call.arguments, extra: value}), *calls[i + 1 :]]
                assert share(longer, wanted, in_order=in_order) <= before


@given(some_calls, st.lists(tables, min_size=1, max_size=4))
def test_the_pairing_is_the_best_of_all(calls: list[Call], truth: list[Any]) -> None:
    wanted = wanted_calls(truth)
    least = sum(w.size for w in wanted)
    best = {False: 0.0, True: 0.0}
    for chosen in itertools.product([None, *range(len(wanted))], repeat=len(calls)):
        taken = [j for j in chosen if j is not None]
        if len(set(taken)) < len(taken):
            continue
        right = wrong = 0
        for call, j in zip(calls, chosen, strict=True):
            if j is not None and wanted[j].name == call.name:
                r, w = wanted[j].compared(call)
                right, wrong = right + r, wrong + w
            else:
                wrong += 1 + len(call.arguments)
        best[False] = max(best[False], right / (least + wrong))
        if taken == sorted(taken):
            best[True] = max(best[True], right / (least + wrong))
    assert share(calls, wanted, in_order=False) == pytest.approx(best[False])
    assert share(calls, wanted, in_order=True) == pytest.approx(best[True])


def test_order_counts_where_it_is_asked_for() -> None:
    truth = [{"name": n, "arguments": {"a": 1}} for n in "fgh"]
    calls = [Call(n, {"a": 1}) for n in "gfh"]
    text = written(calls)["python"]
    assert paid(text, truth) == 1
    assert paid(text, truth, compile("tool_call_match(order=True)")) == 0
    assert paid(text, truth, ORDERED) == pytest.approx(4 / 8)


def test_a_call_of_sixty_four_of_the_same_tool_is_paired_exactly() -> None:
    rng = random.Random(0)
    truth = [{"name": "f", "arguments": {"a": rng.randrange(20), "b": i}} for i in range(64)]
    calls = [Call("f", dict(t["arguments"])) for t in truth]
    rng.shuffle(calls)
    assert paid(written(calls)["python"], truth) == 1
    assert paid(written(calls)["openai"], truth, SHARE) == 1


TOOLRL = [
    '<think>a</think>\n<tool_call>\n{"name": "f", "parameters": {"a": 1}}\n</tool_call>',
    '<think>a</think>\n<tool_call>\n{"name": "f", "parameters": {"a": 1}}\n{"name": "f", "parameters": {"b": "x"}}\n'
    "</tool_call>",
    '<think>a</think>\n<tool_call>\n{"name": "g", "parameters": {"a": true, "b": [1, 2]}}\n</tool_call>\n'
    "<response>Yes.</response>",
    "<think>a</think>\n<response>Yes.</response>",
    "<think>a</think>",
    '<tool_call>{"name": "f", "parameters": {}}</tool_call>',
    '<think>a</think>\n<tool_call>\n{"name": "f"}\n</tool_call>',
    "<tool_call></tool_call>",
    "<tool_call>[1]</tool_call>",
    "</tool_call><tool_call>",
    "",
]


def test_values_of_verls_toolrl_reward_are_reproduced() -> None:
    rlla = pytest.importorskip("verl.utils.reward_score.rlla", reason="needs verl, whose values these are")
    rng = random.Random(7)

    def call() -> dict[str, Any]:
        keys = rng.sample("abc", rng.randrange(4))
        return {"name": rng.choice("fg"), "parameters": {k: rng.choice([1, True, "x", [1], None]) for k in keys}}

    def text() -> str:
        lines = [json.dumps(call()) for _ in range(rng.randrange(1, 4))]
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "{", "[]", '{"name": "f", "parameters": 1}', '{"parameters": {}}']))
        reply = rng.choice(["", "\n<response>Yes.</response>"])
        return f"<think>a</think>\n<tool_call>\n{chr(10).join(lines)}\n</tool_call>{reply}"

    truths = [*TOOLRL[:5], *(t for t in (text() for _ in range(150)) if readable(t))]
    rows = [(r, t) for t in truths for r in [*TOOLRL, t, *(text() for _ in range(10))]]
    program = compile("tool_call_match(compat='rlla')")
    ours = program(Batch([r for r, _ in rows], ground_truths=[t for _, t in rows]))
    for (response, truth), value, status in zip(rows, ours.total, ours.status, strict=True):
        theirs = rlla.compute_score("rlla", response, truth, {"experiment_name": "qwen"})["score"]
        assert status == Status.SCORED
        assert value == theirs, (response, truth)
    assert len(set(ours.total)) > 50


def readable(truth: str) -> bool:
    try:
        calls = [
            json.loads(line) for line in truth.split("<tool_call>")[1].split("</tool_call>", 1)[0].strip().split("\n")
        ]
    except ValueError:
        return False
    return all(isinstance(c, dict) and isinstance(c.get("parameters"), dict) and "name" in c for c in calls)


def test_rlla_has_rules_of_its_own() -> None:
    with pytest.raises(ParameterError, match="leave pay and order out"):
        parse("tool_call_match(pay='share', compat='rlla')")
    assert str(compile("tool_call_match(compat='rlla')").bounds) == "[-3, 4]"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    [
        "[f(a=" + "[" * 5000 + "]" * 5000 + ")]", "f(" + "-" * 9000 + "1)", "[f(a='\\d \\z')]", "[f(**{'a': 1})]",
        "[f(a=__import__('os').system('true'))]", "[f(a=1if 1else 2)]", "[f(a=9**9**9)]", "[f(a=1j)]",
        "[f(" + "a.b(" * 4000 + ")]",
    ],
)  # fmt: skip
def test_python_that_is_no_literal_is_no_call_and_warns_nobody(text: str) -> None:
    for truth in ([{"name": "f", "arguments": {"a": "\\d \\z"}}],):
        expected = 1.0 if "\\d" in text else 0.0
        scores = ALL(Batch([text], ground_truths=[truth]))
        assert scores.total[0] == expected
