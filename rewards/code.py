"""Programs that pass their tests are paid, up to a fifth less where they repeat themselves.

Only a program that passes all tests of its row is paid at all, so that no tidy wrong one is better than a clumsy right
one. Needs Linux and the extra `code`.
"""

from rewardkit import code_tests, repetition, when

reward = when(code_tests(), 1 - 0.2 * repetition(4), 0)

_DOUBLE = {"inputs": ["2", "5"], "outputs": ["4", "10"]}

EXAMPLES = [
    # response, ground truth, total
    ("```python\nprint(2 * int(input()))\n```", _DOUBLE, 1.0),
    ("```python\ndef double(n):\n    return n + n\n```", ["assert double(2) == 4"], 1.0),
    ("ha " * 100 + "\n```python\nprint(2*int(input()))\n```", _DOUBLE, 1 - 0.2 * (1 - 4 / 100)),
    ("```python\nprint(4)\n```", _DOUBLE, 0.0),
    ("```python\nprint(2 * int(input()))", _DOUBLE, 0.0),
    ("", _DOUBLE, 0.0),
]
