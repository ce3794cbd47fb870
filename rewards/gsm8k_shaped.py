"""GSM8K with a format bonus, and brevity for right answers only.

A right answer is worth 1; up to 0.2 more is paid for staying within 150 words, and only to right answers, so that no
short wrong answer is better than a long right one. A tenth of a point is for marking one final answer, right or wrong,
which early in training is the only thing that a policy can learn.
"""

from rewardkit import brevity, exactly_one_answer, gsm8k, when

reward = when(gsm8k(), 1 + 0.2 * brevity(target=150), 0) + 0.1 * exactly_one_answer().named("format")

EXAMPLES = [
    # response, ground truth, total
    ("6 * 7 = 42\n#### 42", "42", 1.3),
    ("It is 42.", "42", 1.2),
    ("word " * 299 + "\n#### 42", "42", 1.2 - 0.2 * (1 - 150 / 301) + 0.1),
    ("6 * 7 = 48\n#### 48", "42", 0.1),
    ("#### 41\nor else\n#### 42", "42", 1.2),
    ("", "42", 0.0),
]
