"""The built-in terms, one family a file."""

from rewardkit.terms.answers import choice, exact, gsm8k, math_equal, numeric
from rewardkit.terms.claims import answer_key, exactly_one_answer
from rewardkit.terms.endings import ends_with
from rewardkit.terms.judging import judge
from rewardkit.terms.length_shaping import brevity, cosine_length, overlong
from rewardkit.terms.lengths import length
from rewardkit.terms.ngrams import copy_share, repetition
from rewardkit.terms.patterns import contains, match_count, matches, starts_with
from rewardkit.terms.scripts import script_share
from rewardkit.terms.similarity import fuzzy_match, token_f1
from rewardkit.terms.structured import json_valid, tool_call
from rewardkit.terms.tags import tag_count, think_answer

__all__ = [
    "answer_key",
    "brevity",
    "choice",
    "contains",
    "copy_share",
    "cosine_length",
    "ends_with",
    "exact",
    "exactly_one_answer",
    "fuzzy_match",
    "gsm8k",
    "json_valid",
    "judge",
    "length",
    "match_count",
    "matches",
    "math_equal",
    "numeric",
    "overlong",
    "repetition",
    "script_share",
    "starts_with",
    "tag_count",
    "think_answer",
    "token_f1",
    "tool_call",
]
