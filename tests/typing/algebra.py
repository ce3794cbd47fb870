"""What must type-check, and, marked so, what must not. Read by check.py; never run."""

from rewardkit import (
    Batch,
    Condition,
    Reward,
    Sample,
    TokenReward,
    Verdict,
    clip,
    compile,
    ends_with,
    gsm8k,
    length,
    maximum,
    mean,
    minimum,
    observe,
    route,
    schedule,
    term,
    when,
)

reward: Reward = length(0.1) + ends_with(".?!")
shaped: Reward = gsm8k() + 0.1 * ends_with(".?!") - 0.2 * length(0.1, cap=1) / 2
verdict: Verdict = gsm8k() & ~ends_with(".") | gsm8k(mode="strict")
condition: Condition = (length() > 3) & gsm8k()
gated: Reward = when(condition, 1 + 0.2 * length(), 0)
gated_by_verdict: Reward = when(gsm8k(), 1, 0.5)
folded: Reward = minimum(length(), 1) + maximum(0, length()) + mean(gsm8k(), length()) + clip(length(), 0, 1)
routed: Reward = route({"a": gsm8k(), "b": 0.5}, otherwise=0)
watched: Reward = observe(length())
named: Verdict = gsm8k().named("right")
tokens: TokenReward = length().spread() + 1 + gsm8k().on("####")
scaled: TokenReward = gsm8k() * tokens
total: Reward = tokens.total() * 2
curriculum: Reward = schedule({0: 0.5, 200: 0.0}) * length()
totals = compile(reward)(Batch(["a"])).total


@term(bounds=(0, 1))
def mentions(sample: Sample, word: str) -> float:
    return float(word in sample.response)


@term(verdict=True)
def polite(sample: Sample) -> bool:
    return "please" in sample.response


mine: Reward = mentions("a") + 1
yes: Verdict = polite() & gsm8k()

mentions(3)  # wrong: not text
mentions()  # wrong: lacks the word
length("0.1")  # wrong: not a number
length(unit="pages")  # wrong: no such unit
when(length(0.1), 1, 0)  # wrong: a Reward is no Condition
when(condition, condition, 0)  # wrong: a Condition is no number
clip(tokens, 0, 1)  # wrong: a TokenReward needs .total() first
minimum(tokens, 1)  # wrong: a TokenReward needs .total() first
condition + 1  # wrong: a Condition in arithmetic
~length()  # wrong: a Reward has no truth
length() & gsm8k()  # wrong: a Reward has no truth
tokens * tokens  # wrong: two TokenRewards
_ = tokens > 1  # wrong: a TokenReward needs .total() first
length().total()  # wrong: a Reward has no tokens to sum
length() / length()  # wrong: divided by a node
is_verdict: Verdict = gsm8k() + 1  # wrong: a sum is a Reward
