"""DeepSeek-R1-Zero's two rewards: the right answer, and reasoning and answer in their tags.

The format is `<think>...</think> <answer>...</answer>`, each tag once and nothing around them. For models whose chat
template writes the opening `<think>` itself, use `think_answer(prefilled=True)`. Source: arXiv 2501.12948, section
2.2.2, which gives the two no weights; here they weigh alike.
"""

from rewardkit import math_equal, think_answer

reward = math_equal() + think_answer().named("format")

EXAMPLES = [
    # response, ground truth, total
    ("<think>6 * 7 is 42.</think>\n<answer>42</answer>", "42", 2.0),
    ("<think>6 * 7 is 42.</think>\n<answer>\\boxed{42}</answer>", "42", 2.0),
    ("<think>6 * 7 is 48.</think>\n<answer>48</answer>", "42", 1.0),
    ("6 * 7 is \\boxed{42}.", "42", 1.0),
    ("<answer>42</answer><think>because</think>", "42", 0.0),
    ("<think>6 * 7 is 42, 6 * 7 is 42, 6 * 7", "42", 0.0),
    ("", "42", 0.0),
]
