"""Instructions that a program can check, as in IF-Eval: all of a row's must be followed, without repetition.

The rows are those of `rewardkit data ifeval`. Needs the extra `instructions` where a row asks for a language.
"""

from rewardkit import follows, repetition

reward = follows() - 0.2 * repetition(n=4)

_ROW = {"instruction_id_list": ["punctuation:no_comma", "change_case:english_lowercase"], "kwargs": [{}, {}]}

EXAMPLES = [
    # response, ground truth, total
    ("no commas here", _ROW, 1.0),
    ("commas, here", _ROW, 0.0),
    ("No commas here", _ROW, 0.0),
    ("no commas here " * 40, _ROW, 1 - 0.2 * (1 - 3 / 117)),
    ("", _ROW, 0.0),
]
