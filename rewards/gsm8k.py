"""One point for the right final answer of a GSM8K problem, after the marker `####`."""

from rewardkit import gsm8k

reward = gsm8k()

EXAMPLES = [
    # response, ground truth, total
    ("6 * 7 = 42\n#### 42", "42", 1.0),
    ("6 * 7 = 42\n#### 42.", "42", 1.0),
    ("6 * 7 = 48\n#### 48", "42", 0.0),
    ("", "42", 0.0),
]
