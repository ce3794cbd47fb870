"""Which program a response gives."""

from __future__ import annotations

import contextlib

import pytest

from rewardkit.answers.limits import MAX_CHARS
from rewardkit.batch import Status
from rewardkit.unit_tests.response import MAX_PROGRAM, NoProgram, code_blocks, completed, program_of

GIVEN = [
    # response, what the tests call, program
    ("```python\nx = 1\n```", "", "x = 1\n"),
    ("So:\n\n```py\nx = 1\n```\nDone.", "", "x = 1\n"),
    ("```\nx = 1\n```", "", "x = 1\n"),
    ("```Python3 title=a.py\nx = 1\n```", "", "x = 1\n"),
    ("~~~python\nx = '```'\n~~~", "", "x = '```'\n"),
    ("````python\n```\n````", "", "```\n"),
    ("```python\r\nx = 1\r\n```\r\n", "", "x = 1\n"),
    ("The code is ```python\nx = 1```", "", "x = 1\n"),
    ("```python\nx = 1\n```<|im_end|>\n", "", "x = 1\n"),
    ("```python\nx = '</s>'\n```</s>", "", "x = '</s>'\n"),
    ("```python\na = 1\n```\nBetter:\n```python\nb = 2\n```", "", "b = 2\n"),
    ("```python\na = 1\n```\nIt prints:\n```\n2\n```", "", "a = 1\n"),
    ("```python\na = 1\n```\nRun it:\n```bash\npython a.py\n```", "", "a = 1\n"),
    ("```python\ndef f(): pass\n```\nUse it:\n```python\nprint(f())\n```", "f", "def f(): pass\n"),
    ("```python\ndef f(): 1\n```\n```python\ndef f(): 2\n```\n```python\nf()\n```", "f", "def f(): 2\n"),
    ("```py\nclass S:\n    def f(self): 1\n```\n```py\nprint(1)\n```", "S().f", "class S:\n    def f(self): 1\n"),
    ("```python\na = 1\n```\n```python\nb = 2\n```", "f", "b = 2\n"),
    ("<think>\n```python\na = 1\n```\n</think>\n```python\nb = 2\n```", "", "b = 2\n"),
    ("```python\na = 1\n```\n</think>\n```python\nb = 2\n```", "", "b = 2\n"),
    ("1. First:\n   ```python\n   if x:\n       y\n   ```", "", "if x:\n    y\n"),
    ("```python\na = 1\n```\nNow the rest:\n```python\nb = ", "", "a = 1\n"),
    ("```python\na = 1\n```python\nb = 2\n```", "", "b = 2\n"),
    ("```python\n\n```\n```python\na = 1\n```\n```python\n   \n```", "", "a = 1\n"),
    ("<answer>\n```python\na = 1\n```\n</answer>", "", "a = 1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "defining", "program"), GIVEN)
def test_programs(response: str, defining: str, program: str) -> None:
    assert program_of(response, defining=defining) == program


NONE = [
    ("", "no code block"),
    ("def f(): pass", "no code block"),
    ("use `f()`", "no code block"),
    ("```python\nx = 1", "never closed"),
    ("```python\nx = 1\n", "never closed"),
    ("```cpp\nint main() {}\n```", "cpp"),
    ("```python\n\n```", "no code block"),
    ("<think>```python\nx = 1\n```", "reasoning never ends"),
    ("```python\nx = 1\n```\n<think>no", "reasoning never ends"),
]


@pytest.mark.parametrize(("response", "reason"), NONE)
def test_no_program_is_no_answer(response: str, reason: str) -> None:
    with pytest.raises(NoProgram, match=reason) as raised:
        program_of(response)
    assert raised.value.status is Status.NO_ANSWER


def test_too_much_text_is_over_a_limit() -> None:
    for response in ("x" * (MAX_CHARS + 1), f"```python\n{'x = 1 ;' * MAX_PROGRAM}\n```"):
        with pytest.raises(NoProgram) as raised:
            program_of(response)
        assert raised.value.status is Status.LIMIT


def test_without_fences_the_text_is_the_program_where_it_has_no_block() -> None:
    assert program_of("<think>so</think>\ndef f(): 1", fenced=False).strip() == "def f(): 1"
    assert program_of("text\n```python\nx = 1\n```", fenced=False) == "x = 1\n"
    for response in ("", "text\n```python\nx = 1", "```cpp\nx\n```"):
        with pytest.raises(NoProgram):
            program_of(response, fenced=False)


def test_a_body_goes_on_where_its_prompt_ends() -> None:
    prompt = 'import math\n\ndef f(x):\n    """Doc."""\n'
    exec(compile(completed("    return math.sqrt(x)\n", prompt, "import math"), "a", "exec"), names := {})  # noqa: S102
    assert names["f"](9) == 3
    assert completed("def f(x): pass\n", prompt, "import math\n\n") == "import math\n\ndef f(x): pass\n"
    assert completed("    x = 1\n    y = 2\n", "", "") == "x = 1\ny = 2\n", "a block that is indented as a whole"


HOSTILE = [
    "```",
    "```\n",
    "``` ",
    "``` `",
    " ",
    "\t`",
    "`",
    "~",
    "~~~",
    "```python ",
    "```python\n",
    "\n",
    "x ```py",
    "<|im_end|>",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_is_read_in_a_time_that_grows_as_its_length(unit: str) -> None:
    """A pattern that goes back over what it has read would take hours here."""
    for text in (unit * (MAX_CHARS // len(unit)), "```" + unit * 300_000 + "`", f"```python\n{unit * 90_000}\n```"):
        for defining in ("", "f"):
            with contextlib.suppress(NoProgram):
                program_of(text[:MAX_CHARS], defining=defining)


def test_too_many_code_blocks_are_over_a_limit() -> None:
    assert len(code_blocks("```python\nx\n```\n" * 1_000)[0]) == 1_000
    with pytest.raises(NoProgram) as raised:
        code_blocks("```python\nx\n```\n" * 1_001)
    assert raised.value.status is Status.LIMIT
