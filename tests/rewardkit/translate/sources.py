"""Reward functions as people write them, with the formula that each is read as."""

from __future__ import annotations

from typing import NamedTuple

from rewardkit.translate import Level


class Case(NamedTuple):
    source: str
    formula: str
    level: Level


CASES = {
    "recipe": Case(
        """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    text = solution_str.strip()
    reward = len(text.split()) * 0.1
    if text.endswith((".", "?", "!")):
        reward += 1.0
    return reward
""",
        "length(0.1) + ends_with('.?!', min_words=0)",
        Level.NEARLY,
    ),
    "hash marks, verl's way": Case(
        r"""
import re

CLIP = 300

def extract(text, method="strict"):
    if len(text) > CLIP:
        text = text[-CLIP:]
    if method == "strict":
        found = re.findall("#### (\\-?[0-9\\.\\,]+)", text)
        if len(found) == 0:
            final = None
        else:
            final = found[-1].replace(",", "").replace("$", "")
    else:
        numbers = re.findall("(\\-?[0-9\\.\\,]+)", text)
        final = None
        if len(numbers) == 0:
            pass
        else:
            for final in reversed(numbers):
                if final not in ["", "."]:
                    break
    return final

def compute_score(solution_str, ground_truth, method="strict", format_score=0.0, score=1.0):
    answer = extract(solution_str, method=method)
    if answer is None:
        return 0
    if answer == ground_truth:
        return score
    return format_score
""",
        "gsm8k(mode='verl-strict')",
        Level.EQUAL,
    ),
    "format by a pattern": Case(
        r"""
import re

def format_reward(completions, **kwargs):
    pattern = r"^<think>.*?</think>\n<answer>.*?</answer>$"
    contents = [completion[0]["content"] for completion in completions]
    matches = [re.match(pattern, content, re.DOTALL) for content in contents]
    return [0.5 if match else 0.0 for match in matches]
""",
        r"0.5 * matches('(?s)^<think>.*?</think>\\n<answer>.*?</answer>$')",
        Level.EQUAL,
    ),
    "a multiline format": Case(
        r"""
import re

FORM = re.compile(r"^a.*^b$", flags=re.DOTALL | re.MULTILINE)

def form(completions: list, **kwargs) -> list[float]:
    rewards = []
    for completion in completions:
        text = completion[0]["content"]
        if FORM.match(text):
            rewards.append(1.0)
        else:
            rewards.append(-1.0)
    return rewards
""",
        r"when(matches('(?ms)\\A(?:^a.*^b$)'), 1, -1)",
        Level.EQUAL,
    ),
    "tags once": Case(
        """
def tags(completions, **kwargs):
    def count(text):
        score = 0.0
        for tag in ("<think>", "</think>"):
            if text.count(tag) == 1:
                score += 0.125
        if text.count("<answer>") == 1:
            score += 0.25
        return score

    return [count(c[0]["content"]) for c in completions]
""",
        "0.25 * tag_count(['<think>', '</think>']) + 0.25 * tag_count(['<answer>'])",
        Level.EQUAL,
    ),
    "steps up to three": Case(
        """
import re

def steps(completions, **kwargs):
    counts = [len(re.findall("First|Then|Finally", c[0]["content"])) for c in completions]
    return [min(1.0, n / 3) for n in counts]
""",
        "match_count('First|Then|Finally', cap=3) / 3",
        Level.EQUAL,
    ),
    "guards, caps and clips": Case(
        """
MAX_WORDS = 8

def compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    if not solution_str.strip():
        return -1.0
    words = len(solution_str.split())
    if "As an AI" in solution_str or words > MAX_WORDS:
        return -1.0
    score = min(0.25 * words, 1.0)
    score -= 0.5 if "####" in solution_str else 0.0
    return {"score": max(-0.25, min(score, 0.75)), "words": words}
""",
        "when(~(length() > 0) | (contains('As an AI') | (length() > 8)), -1, "
        "clip(length(0.25, cap=1) - 0.5 * contains('####'), -0.25, 0.75))",
        Level.EQUAL,
    ),
    "how it begins and ends": Case(
        """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    begins = solution_str.startswith("<think>")
    ends = solution_str.endswith("</answer>")
    return float(begins and ends) + (0.5 if len(solution_str) < 20 else 0)
""",
        r"(matches('\\A<think>') & matches('</answer>\\Z')) + 0.5 * when(length(unit='characters') < 20, 1, 0)",
        Level.EQUAL,
    ),
    "one rule a source": Case(
        """
def words(text):
    return 0.5 * len(text.split())

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    if data_source == "openai/gsm8k":
        res = words(solution_str)
    elif data_source in ["math", "aime"]:
        res = 1.0 if "boxed" in solution_str else 0.0
    else:
        res = 0.25
    return float(res)
""",
        "route({'openai/gsm8k': length(0.5), 'math': contains('boxed'), 'aime': contains('boxed')}, otherwise=0.25)",
        Level.EQUAL,
    ),
    "all tags or nothing": Case(
        """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    for tag in ["<think>", "</think>"]:
        if solution_str.count(tag) != 1:
            return 0.0
    return 1.0 if all(t in solution_str for t in ("####", "42")) else 0.5
""",
        "when((tag_count(['<think>']) < 1) | (tag_count(['</think>']) < 1), 0, "
        "when(contains('####') & contains('42'), 1, 0.5))",
        Level.EQUAL,
    ),
    "counts": Case(
        """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    n = solution_str.count("a")
    return (n == 2) + 2 * (n >= 3) - (n == 0) + (0 < len(solution_str) <= 5)
""",
        "when((match_count('a', cap=2) >= 2) & ~(match_count('a', cap=3) >= 3), 1, 0) "
        "+ 2 * when(match_count('a', cap=3) >= 3, 1, 0) "
        "+ when((length(unit='characters') > 0) & (length(unit='characters') <= 5), 1, 0) - ~contains('a')",
        Level.EQUAL,
    ),
    "two functions with weights": Case(
        """
from trl import GRPOConfig, GRPOTrainer

def longer(completions, **kwargs):
    return [float(len(c[0]["content"])) for c in completions]

def polite(completions, **kwargs):
    return [1.0 if "please" in c[0]["content"] else 0.0 for c in completions]

args = GRPOConfig(reward_weights=[0.01, 2.0])
trainer = GRPOTrainer(reward_funcs=[longer, polite], args=args)
""",
        "length(0.01, unit='characters') + 2 * contains('please')",
        Level.EQUAL,
    ),
    "a count without a bound": Case(
        """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return -0.5 * solution_str.count("\\n")
""",
        r"-0.5 * match_count('\\\n', cap=1000)",
        Level.NEARLY,
    ),
    "a guard that is not the answer's": Case(
        """
import re

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    if not re.search("<think>", solution_str):
        return 0.0
    return 1.0 if is_equiv(extract_boxed_answer(solution_str), ground_truth) else 0.0
""",
        "matches('<think>') & math_equal(mode='strict')",
        Level.SIMILAR,
    ),
    "compared texts": Case(
        r"""
import re

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    match = re.search(r"<answer>(.*?)</answer>", solution_str, re.DOTALL)
    if match is None:
        return 0.0
    return float(match.group(1).strip() == ground_truth.strip())
""",
        r"matches('(?s)<answer>(.*?)</answer>') & exact()",
        Level.SIMILAR,
    ),
    "xml by splitting": Case(
        """
def extract_xml_answer(text):
    answer = text.split("<answer>")[-1]
    answer = answer.split("</answer>")[0]
    return answer.strip()

def correctness_reward_func(prompts, completions, answer, **kwargs) -> list[float]:
    responses = [completion[0]["content"] for completion in completions]
    extracted = [extract_xml_answer(r) for r in responses]
    print(prompts[0], responses[0])
    return [2.0 if r == a else 0.0 for r, a in zip(extracted, answer)]
""",
        "2 * exact()",
        Level.SIMILAR,
    ),
    "math-verify": Case(
        """
from math_verify import parse, verify

def accuracy(completions, solution, **kwargs):
    rewards = []
    for completion, sol in zip(completions, solution):
        gold = parse(sol)
        if len(gold) == 0:
            rewards.append(None)
            continue
        try:
            rewards.append(float(verify(gold, parse(completion[0]["content"]))))
        except Exception:
            rewards.append(0.0)
    return rewards
""",
        "math_equal()",
        Level.SIMILAR,
    ),
    "boxed": Case(
        """
def last_boxed_only_string(string):
    at = string.rfind("\\\\boxed")
    while at >= 0:
        at -= 1
    return string[at:]

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    retval = 0.0
    try:
        boxed = last_boxed_only_string(solution_str)
        if boxed is not None:
            if is_equiv(boxed, ground_truth):
                retval = 1.0
    except Exception as e:
        print(e)
    return retval
""",
        "math_equal(mode='strict')",
        Level.SIMILAR,
    ),
    "floats": Case(
        """
import re

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    numbers = re.findall(r"-?[0-9]+", solution_str)
    if not numbers:
        return 0.0
    return 1.0 if abs(float(numbers[-1]) - float(ground_truth)) < 0.01 else 0.0
""",
        "numeric(tolerance=0.01)",
        Level.SIMILAR,
    ),
    "a part that no term says": Case(
        """
import math

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    score = 0.5 * ("please" in solution_str)
    score += math.cos(len(solution_str))
    return score
""",
        "0.5 * contains('please')",
        Level.LEFT_OUT,
    ),
    "a condition that no term says": Case(
        """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    if solution_str.isupper():
        return -1.0
    return float(len(solution_str.split()))
""",
        "length()",
        Level.LEFT_OUT,
    ),
}
