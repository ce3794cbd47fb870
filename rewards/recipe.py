"""The two-term reward of the Llama-3 recipe: a tenth of a point for every word, one point for ending a sentence.

Its length term has no upper bound: a policy learns to write to the limit of its response length. `length(0.1, cap=2)`
pays twenty words at most. `min_words=0` is the recipe's own rule: a lone mark is paid too.
"""

from rewardkit import ends_with, length

reward = length(0.1) + ends_with(".?!", min_words=0)

EXAMPLES = [
    # response, ground truth, total
    ("She has nine pens.", None, 1.4),
    ("She has nine pens", None, 0.4),
    (".", None, 1.1),
    ("", None, 0.0),
]
