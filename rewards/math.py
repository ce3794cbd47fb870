r"""One point for the right final answer of a MATH problem: formulas, numbers, sets, intervals and words.

Answers that mean the same are equal: `\frac{1}{2}` and `0.5`, `(x+1)^2` and `x^2+2x+1`. How answers are found and
compared: `rewardkit.answers`. Source of the task: Hendrycks et al. 2021, arXiv 2103.03874.
"""

from rewardkit import math_equal

reward = math_equal()

EXAMPLES = [
    # response, ground truth, total
    ("Therefore $x = \\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}", 1.0),
    ("Therefore $x = \\boxed{0.5}$.", "\\frac{1}{2}", 1.0),
    ("It factors as \\boxed{(x+1)^2}.", "x^2+2x+1", 1.0),
    ("Therefore $x = \\boxed{2}$.", "\\frac{1}{2}", 0.0),
    ("", "\\frac{1}{2}", 0.0),
]
