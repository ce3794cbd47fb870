"""The two-term reward of the Llama-3 recipe: what it pays, what a policy would do with it, and what to pay instead.

python examples/recipe_reward.py
"""

from rewardkit import Batch, bounds, compile, ends_with, gsm8k, length, parse, when
from rewardkit.laws import check, dominates

# A tenth for each word, one for a final mark: the whole hand-written manager in a line.
recipe = length(0.1) + ends_with(".?!", min_words=0)
print("the recipe:", recipe, "is in", bounds(recipe))

texts = ["It is 42.", "It is 42", "", "!" * 30, "so " * 200 + "on."]
scores = compile(recipe)(Batch(texts))
for text, total, words, mark in zip(texts, scores.total, *scores.values.values(), strict=True):
    print(f"  {total:6.2f} = {words:5.2f} + {mark:g}   {text[:24]!r}")

# Add a verdict, and ask whether a wrong answer can outscore a right one.
naive = recipe + 2 * gsm8k()
(broken,) = [outcome.broken for outcome in check(naive, dominates(gsm8k()), examples=50) if not outcome.kept]
wrong, right = broken.counterexample
print(
    f"\n{naive}\n  pays {wrong.response!r} more than {right.response!r}, and the ground truth is {right.ground_truth}"
)

# Only right answers are paid for their words, and not for many of them.
gated = when(gsm8k(), 2 + length(0.1, cap=0.5) + ends_with(".?!"), 0)
kept = all(outcome.kept for outcome in check(gated, dominates(gsm8k()), examples=50))
print(f"\n{gated}\n  pays no wrong answer more than a right one: {kept}")
assert kept
assert parse(repr(gated)) == gated
