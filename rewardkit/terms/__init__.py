"""The built-in terms, one family a file. A term that is not imported here does not exist."""

from rewardkit.terms.answers import choice as choice
from rewardkit.terms.answers import exact as exact
from rewardkit.terms.answers import gsm8k as gsm8k
from rewardkit.terms.answers import math_equal as math_equal
from rewardkit.terms.answers import numeric as numeric
from rewardkit.terms.claims import answer_key as answer_key
from rewardkit.terms.claims import exactly_one_answer as exactly_one_answer
from rewardkit.terms.endings import ends_with as ends_with
from rewardkit.terms.judging import judge as judge
from rewardkit.terms.length_shaping import brevity as brevity
from rewardkit.terms.length_shaping import cosine_length as cosine_length
from rewardkit.terms.length_shaping import overlong as overlong
from rewardkit.terms.lengths import length as length
from rewardkit.terms.ngrams import copy_share as copy_share
from rewardkit.terms.ngrams import repetition as repetition
from rewardkit.terms.patterns import contains as contains
from rewardkit.terms.patterns import match_count as match_count
from rewardkit.terms.patterns import matches as matches
from rewardkit.terms.patterns import starts_with as starts_with
from rewardkit.terms.scripts import script_share as script_share
from rewardkit.terms.similarity import fuzzy_match as fuzzy_match
from rewardkit.terms.similarity import token_f1 as token_f1
from rewardkit.terms.structured import json_valid as json_valid
from rewardkit.terms.structured import tool_call as tool_call
from rewardkit.terms.tags import tag_count as tag_count
from rewardkit.terms.tags import think_answer as think_answer
