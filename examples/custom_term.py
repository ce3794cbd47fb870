"""A term of your own, tested by the laws that every reward keeps, and by two that you state.

pip install 'rewardkit-rl[testing]'
pytest examples/custom_term.py
rewardkit train small model.path=MODEL data.train_files=DATA --reward examples/custom_term.py
"""

import re

from rewardkit import Sample, gsm8k, term
from rewardkit.laws import bounded_by_length, dominates, laws

_SUM = re.compile(r"(\d+) ([-+*]) (\d+) = (\d+)")


@term(bounds=(0, 1))
def sums_that_hold(sample: Sample) -> float:
    """The share of the sums in the response that are right; 1 where it does none."""
    sums = _SUM.findall(sample.response)
    right = [{"+": int(a) + int(b), "-": int(a) - int(b), "*": int(a) * int(b)}[op] == int(c) for a, op, b, c in sums]
    return sum(right) / len(right) if right else 1.0


# A right answer is paid, and up to a fifth more if its working holds.
reward = gsm8k() * (1 + 0.2 * sums_that_hold())

test_reward = laws(reward, dominates(gsm8k()), bounded_by_length(0.2), examples=50)
