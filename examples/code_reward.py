"""Programs as answers: what the usual shapes of tests pay, and what happens to programs that cheat.

pip install 'rewardkit-rl[code]'
python examples/code_reward.py
"""

from rewardkit import Batch, Status, code_tests, compile

STDIN = {"inputs": ["1 2\n", "20 22\n"], "outputs": ["3\n", "42\n"]}
HUMANEVAL = {
    "prompt": "def add(a, b):\n",
    "entry_point": "add",
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(20, 22) == 42\n",
}
MBPP = ["assert add(1, 2) == 3", "assert add(20, 22) == 42"]

ROWS = [
    # what it is, program, tests
    ("a right program", "print(sum(map(int, input().split())))", STDIN),
    ("prints only the first test's answer", "print(3)", STDIN),
    ("a right function", "def add(a, b):\n    return a + b", HUMANEVAL),
    ("equal to everything", "class Any:\n    __eq__ = lambda *_: True\ndef add(a, b):\n    return Any()", MBPP),
    ("leaves early", "import os\ndef add(a, b):\n    os._exit(0)", MBPP),
    (
        "looks at its caller",
        "import sys\ndef add(a, b):\n    return sys._getframe(1).f_locals.get('expected')",
        HUMANEVAL,
    ),
    ("never ends", "while True: pass", STDIN),
]

batch = Batch([f"```python\n{code}\n```" for _, code, _ in ROWS], ground_truths=[tests for _, _, tests in ROWS])
scores = compile(code_tests(pay="share", cpu_seconds=0.5))(batch)

for (name, _, _), total, status in zip(ROWS, scores.total, scores.status, strict=True):
    print(f"{total:.2f}  {Status(int(status)).name:8}  {name}")
