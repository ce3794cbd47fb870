"""Ground truths of code tasks, in the shapes that data sets have.

==================================  ============================================================================
data sets                           what a row holds
==================================  ============================================================================
verl's prime_code, APPS, TACO       `inputs`, `outputs`, and `fn_name` where a function is called
CodeContests                        `public_tests`, `private_tests`, `generated_tests`, each `input` and `output`
open-r1, DeepCoder, LiveCodeBench   a list of `input`, `output`, `type` or `testtype`, `fn_name` or `func_name`
open-r1/codeforces                  `official_tests`, and `generated_checker` where several outputs are right
HumanEval, LeetCodeDataset          `test`, `entry_point`, `prompt`
MBPP, AceCode                       a list of assertions, `test_list`, `test_setup_code`, `test_imports`
KodCode                             `test`, functions of pytest that import the program from `solution`
==================================  ============================================================================

All of them as data, or as JSON text; assertions also as plain text. Nothing is evaluated, and nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from rewardkit.unit_tests.cases import BadTests, Tests
from rewardkit.unit_tests.compare import TextRule
from rewardkit.unit_tests.printed import Printed, PrintedTests
from rewardkit.unit_tests.returned import Returned, ReturnedTests
from rewardkit.unit_tests.scripts import read_scripts

MAX_TESTS: Final = 10_000
"""Most tests of one row."""

_CONTESTS: Final = ("public_tests", "private_tests", "generated_tests")
_LISTS: Final = ("test_cases", "official_tests", "tests", "public_test_cases", "private_test_cases")
_WRAPPERS: Final = ("input_output", "verification_info", "ground_truth", "tests")
_SHAPES: Final = (
    "`inputs` and `outputs`, a list of `input` and `output`, `test` with `entry_point`, or a list of assertions"
)
_FUNCTIONAL: Final = frozenset({"functional", "function_call", "function", "call"})


def read_tests(ground_truth: object) -> Tests:
    """The tests of a ground truth.

    Args:
        ground_truth: data in one of the shapes above, JSON text of it, or assertions as text.

    Raises:
        BadTests: it is none of these.
    """
    data = _plain(ground_truth)
    if isinstance(data, str):
        data = _from_text(data)
    if isinstance(data, Mapping):
        tests = _from_mapping(data)
    elif isinstance(data, list) and data and all(isinstance(entry, str) for entry in data):
        tests = read_scripts("\n".join(data))
    elif isinstance(data, list):
        tests = _from_cases(data, {})
    else:
        raise BadTests(f"a {type(data).__name__}; expected {_SHAPES}")
    if len(tests) > MAX_TESTS:
        raise BadTests(f"over {MAX_TESTS:,} tests")
    return tests


def _plain(value: Any) -> Any:
    """Columns of tables hold arrays."""
    tolist = getattr(value, "tolist", None)
    return tolist() if callable(tolist) else list(value) if isinstance(value, tuple) else value


def _from_text(text: str) -> Any:
    stripped = text.lstrip()
    if not stripped:
        raise BadTests("empty text")
    if stripped[0] in '[{"':
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadTests(f"no JSON: {error}") from None
    if "assert" in text:
        return {"test": text}
    raise BadTests(f"text that is neither JSON nor assertions; expected {_SHAPES}")


def _from_mapping(data: Mapping[str, Any]) -> Tests:
    for read in _READERS:
        if (tests := read(data)) is not None:
            return tests
    raise BadTests(f"its fields are {', '.join(map(repr, list(data)[:12]))}; expected {_SHAPES}")


def _wrapped(data: Mapping[str, Any]) -> Tests | None:
    for name in _WRAPPERS:
        inner = _plain(data.get(name))
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", "["):
            inner = _from_text(inner)
        if isinstance(inner, Mapping):
            outer = {key: value for key, value in data.items() if key != name}
            return _from_mapping({**outer, **inner})
    return None


def _asserted(data: Mapping[str, Any]) -> Tests | None:
    """MBPP's assertions; verl's `assert_case`."""
    lists = [_plain(data.get(name)) for name in ("test_list", "challenge_test_list", "assert_case", "assertions")]
    lines = [line for given in lists if isinstance(given, list) for line in given]
    for name in ("test_cases", "tests"):
        given = _plain(data.get(name))
        if isinstance(given, list) and given and all(isinstance(line, str) for line in given):
            lines += given
    if not lines:
        return None
    setup = [*_listed(data, "test_imports"), *_listed(data, "test_setup_code")]
    above, below = _imports_apart("\n".join(_text(line, "test_setup_code") for line in setup))
    test = "\n".join((below, *(_text(line, "test_list") for line in lines)))
    return read_scripts(
        test,
        entry="",
        prompt=_text(data.get("starter_code") or "", "starter_code"),
        setup=above,
    )


def _listed(data: Mapping[str, Any], name: str) -> list[Any]:
    given = _plain(data.get(name)) or []
    return given if isinstance(given, list) else [given]


def _imports_apart(code: str) -> tuple[str, str]:
    """Imports, which the program may count on as well, and the rest."""
    lines = code.split("\n")
    is_import = [line.startswith(("import ", "from ")) for line in lines]
    return (
        "\n".join(line for line, yes in zip(lines, is_import, strict=True) if yes),
        "\n".join(line for line, yes in zip(lines, is_import, strict=True) if not yes),
    )


def _scripted(data: Mapping[str, Any]) -> Tests | None:
    """HumanEval's `test`, and tests of pytest."""
    test = data.get("test") or data.get("functional")
    if not test:
        return None
    entry = data.get("entry_point") or data.get("fn_name") or ""
    prompt = data.get("prompt") or data.get("starter_code") or ""
    return read_scripts(
        _text(test, "test"),
        entry=_text(entry, "entry_point").strip(),
        prompt=prompt if isinstance(prompt, str) else "",
        setup="\n".join(_text(line, "test_imports") for line in _listed(data, "test_imports")),
    )


def _paired(data: Mapping[str, Any]) -> Tests | None:
    """verl's `inputs` and `outputs`, CodeContests' `input` and `output` of each kind of tests."""
    if "inputs" in data or "outputs" in data:
        return _from_columns(data.get("inputs"), data.get("outputs"), data)
    if isinstance(_plain(data.get("input")), list) and isinstance(_plain(data.get("output")), list):
        return _from_columns(data["input"], data["output"], data)
    groups = [data[name] for name in _CONTESTS if isinstance(data.get(name), Mapping)]
    if not groups:
        return None
    inputs = [entry for group in groups for entry in _column(group.get("input"), "input")]
    outputs = [entry for group in groups for entry in _column(group.get("output"), "output")]
    return _from_columns(inputs, outputs, data)


def _listed_cases(data: Mapping[str, Any]) -> Tests | None:
    cases: list[Any] = []
    for name in _LISTS:
        given = _plain(data.get(name))
        if isinstance(given, str) and given:
            if name == "private_test_cases" and given.lstrip()[:1] not in ("[", "{"):
                raise BadTests(
                    "`private_test_cases` is a compressed pickle, which is never opened: unpickling runs what it "
                    "holds. Write these tests as JSON once, where you trust their source"
                )
            given = _from_text(given)
        if isinstance(given, list):
            cases += given
    return _from_cases(cases, data) if cases else None


_READERS: Final[tuple[Callable[[Mapping[str, Any]], Tests | None], ...]] = (
    _asserted,
    _scripted,
    _paired,
    _listed_cases,
    _wrapped,
)


def _column(values: Any, name: str) -> list[Any]:
    values = _plain(values)
    if isinstance(values, str):
        values = [values]
    if not isinstance(values, list):
        raise BadTests(f"`{name}` is {type(values).__name__}; expected a list")
    return values


def _from_columns(inputs: Any, outputs: Any, data: Mapping[str, Any]) -> Tests:
    inputs, outputs = _column(inputs, "inputs"), _column(outputs, "outputs")
    if len(inputs) != len(outputs):
        raise BadTests(f"{len(inputs)} inputs and {len(outputs)} outputs; expected one of each for every test")
    if not inputs:
        raise BadTests("there are no tests")
    name = _function_name(data)
    return _returned(name, inputs, outputs, data) if name else _printed(inputs, outputs, data)


def _function_name(data: Mapping[str, Any]) -> str:
    metadata = data.get("metadata")
    if isinstance(metadata, str) and metadata.lstrip()[:1] == "{":
        metadata = _from_text(metadata)
    for holder in (data, metadata):
        if isinstance(holder, Mapping):
            for key in ("fn_name", "func_name"):
                if name := holder.get(key):
                    name = _text(name, key).strip().removeprefix("Solution().").removeprefix("Solution.")
                    if not name.isidentifier():
                        raise BadTests(f"`{key}` is {name!r:.60}; expected the name of a function")
                    return str(name)
    return ""


def _from_cases(cases: Sequence[Any], data: Mapping[str, Any]) -> Tests:
    if not cases:
        raise BadTests("there are no tests")
    for number, case in enumerate(cases, 1):
        if not isinstance(case, Mapping) or "input" not in case or "output" not in case:
            raise BadTests(f"test {number} is {case!r:.80}; expected `input` and `output`")
    names = {_function_name(case) or _function_name(data) for case in cases if _is_call(case, data)}
    kinds = {_is_call(case, data) for case in cases}
    if len(kinds) > 1 or len(names) > 1:
        raise BadTests(
            "its tests are of several kinds; expected all of them to call one function, or to run the program"
        )
    if names == {""}:
        raise BadTests("its tests call a function that neither `fn_name` nor `func_name` names")
    inputs, outputs = [case["input"] for case in cases], [case["output"] for case in cases]
    return _returned(names.pop(), inputs, outputs, data) if names else _printed(inputs, outputs, data)


def _is_call(case: Mapping[str, Any], data: Mapping[str, Any]) -> bool:
    kind = case.get("testtype") or case.get("type")
    return kind in _FUNCTIONAL if kind else bool(_function_name(case) or _function_name(data))


def _printed(inputs: Sequence[Any], outputs: Sequence[Any], data: Mapping[str, Any]) -> PrintedTests:
    if data.get("interaction_format") or data.get("input_mode") == "file":
        raise BadTests("its programs talk with a judge, or read files; expected standard input and output")
    cases = tuple(
        Printed(_lines(given, "an input"), _lines(expected, "an output"))
        for given, expected in zip(inputs, outputs, strict=True)
    )
    rule = data.get("generated_checker") or data.get("checker") or ""
    if not isinstance(rule, str):
        raise BadTests(f"`checker` is a {type(rule).__name__}; expected its source, or one of {_RULES}")
    if not rule and not any(case.expected.strip() for case in cases):
        raise BadTests("no test expects any output, and a program that does nothing would pass")
    if rule in get_args(TextRule):
        return PrintedTests(cases, rule=rule)  # type: ignore[arg-type]  # it is one of them
    if rule and "\n" not in rule.strip():
        raise BadTests(f"`checker` is {rule!r:.60}; expected its source, or one of {_RULES}")
    return PrintedTests(cases, checker=rule)


_RULES: Final = ", ".join(get_args(TextRule))


def _returned(name: str, inputs: Sequence[Any], outputs: Sequence[Any], data: Mapping[str, Any]) -> ReturnedTests:
    expected = [_json(output, "an output") for output in outputs]
    # APPS puts each expected value into a list of one; data sets made of it, only some of them
    is_boxed = all(isinstance(value, list) and len(value) == 1 for value in expected)
    cases = tuple(
        Returned(_arguments(given), (value, value[0]) if is_boxed else (value,))
        for given, value in zip(inputs, expected, strict=True)
    )
    return ReturnedTests(name, cases, _text(data.get("starter_code") or "", "starter_code"))


def _arguments(given: Any) -> tuple[Any, ...]:
    """A list of arguments, or text with the JSON of one argument a line."""
    given = _plain(given)
    if isinstance(given, str):
        given = [_json(line, "an input's line") for line in given.split("\n") if line.strip()]
    if not isinstance(given, list):
        raise BadTests(f"an input is {given!r:.60}; expected a list of arguments, or text with one argument a line")
    return tuple(_with_numbers(argument) for argument in given)


def _with_numbers(argument: Any) -> Any:
    """An argument; a dict whose keys are all whole numbers as text, which is how JSON writes them, has numbers."""
    if isinstance(argument, dict) and argument and all(_is_integer(key) for key in argument):
        return {int(key): value for key, value in argument.items()}
    return argument


def _is_integer(key: Any) -> bool:
    return isinstance(key, str) and key.isascii() and key.removeprefix("-").isdecimal() and len(key) < 20


def _json(value: Any, what: str) -> Any:
    if not isinstance(value, str):
        return _plain(value)
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise BadTests(f"{what} is {value!r:.60}; expected JSON") from None


def _lines(value: Any, what: str) -> str:
    value = _plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadTests(f"{what} is {value!r:.60}; expected text, or a list of lines")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadTests(f"`{name}` is {value!r:.60}; expected text")
    return value
