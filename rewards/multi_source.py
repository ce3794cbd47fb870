"""One reward for a mixed data set: each row is graded by the rule of its `data_source`.

Rows of another source are NOT_APPLICABLE: they count as unscored and in the metrics, never as a silent 0. For a rule
that takes them all, give `otherwise=...`. The repetition penalty holds for every source.
"""

from rewardkit import choice, gsm8k, math_equal, repetition, route

reward = route(
    {
        "openai/gsm8k": gsm8k(),
        "lighteval/MATH": math_equal(),
        "DigitalLearningGmbH/MATH-lighteval": math_equal(),
        "cais/mmlu": choice(),
    }
).named("accuracy") - 0.2 * repetition(n=4)

EXAMPLES = [
    # response, ground truth, total, what else the row holds
    ("6 * 7 = 42\n#### 42", "42", 1.0, {"data_source": "openai/gsm8k"}),
    ("so it is \\boxed{\\frac{2}{4}}", "\\frac{1}{2}", 1.0, {"data_source": "lighteval/MATH"}),
    ("The answer is (C).", "C", 1.0, {"data_source": "cais/mmlu"}),
    ("The answer is (B).", "C", 0.0, {"data_source": "cais/mmlu"}),
    ("ha " * 100 + "\n#### 42", "42", 1.0 - 0.2 * (1 - 3 / 99), {"data_source": "openai/gsm8k"}),
    ("", "42", 0.0, {"data_source": "openai/gsm8k"}),
]
