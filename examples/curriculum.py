"""A curriculum: form first, then the answer, by schedules on the weights.

python examples/curriculum.py
"""

from rewardkit import Batch, bounds, compile, ends_with, gsm8k, linear, schedule

# Until step 200 the closing mark fades out; from step 50 to 150 being right comes in.
reward = schedule({0: 1.0, 100: 0.5, 200: 0.0}) * ends_with(".?!") + linear(0, 2, steps=100, begin=50) * gsm8k()
print(reward, "is in", bounds(reward), "over the whole run")

texts = ["Let me think about it.", "#### 42"]
program = compile(reward)
for step in (0, 50, 100, 150, 200):
    closed, right = program(Batch(texts, ground_truths=["42", "42"], step=step)).total
    print(f"  step {step:3}: a closed sentence {closed:.2f}, the right answer {right:.2f}")

closed, right = program(Batch(texts, ground_truths=["42", "42"], step=200)).total
assert (closed, right) == (0.0, 2.0)
