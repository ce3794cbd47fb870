"""Verifiable rewards as in Tülu 3: ten for a right answer or for instructions that are followed, else nothing.

Rows are graded by their `data_source`: `gsm8k`, `MATH` or `ifeval`, the names that its mixed data set uses. Source:
Lambert et al. 2024, arXiv 2411.15124, section 6.
"""

from rewardkit import follows, gsm8k, math_equal, route

reward = 10 * route({"gsm8k": gsm8k(), "MATH": math_equal(), "ifeval": follows()}).named("verified")

_ROW = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}

EXAMPLES = [
    # response, ground truth, total, what else the row holds
    ("6 * 7 = 42\n#### 42", "42", 10.0, {"data_source": "gsm8k"}),
    ("so it is \\boxed{\\frac{2}{4}}", "\\frac{1}{2}", 10.0, {"data_source": "MATH"}),
    ("no commas", _ROW, 10.0, {"data_source": "ifeval"}),
    ("one, two", _ROW, 0.0, {"data_source": "ifeval"}),
    ("It is 43.", "42", 0.0, {"data_source": "gsm8k"}),
]
