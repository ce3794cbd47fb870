"""DAPO: 1 for the right answer, -1 for a wrong one, and a soft punishment for overlong responses.

The punishment grows over the last 4,096 tokens before 20,480, the lengths of the paper; set both to fit your own
`max_response_length`. It is bounded: at most -1. Source: arXiv 2503.14476, sections 2.4 and 3.4.
"""

from rewardkit import math_equal, overlong, when

reward = when(math_equal(), 1, -1) + overlong(20480, 4096)

EXAMPLES = [
    # response, ground truth, total, what else the row holds
    ("Answer: \\boxed{42}", "42", 1.0, {"tokens": 16384}),
    ("Answer: \\boxed{42}", "42", 0.5, {"tokens": 18432}),
    ("Answer: \\boxed{42}", "42", 0.0, {"tokens": 20480}),
    ("Answer: \\boxed{41}", "42", -1.0, {"tokens": 100}),
    ("", "42", -1.0, {"tokens": 0}),
    ("and so on", "42", -2.0, {"tokens": 30000}),
]
