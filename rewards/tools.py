"""The calls that a row wants, no more and no less, and a tenth for calls that are well-formed at all.

Early in training a policy writes no call that can be read; the tenth is what it learns from first. The rows are those
of `rewardkit data bfcl`, or any with calls as the ground truth.
"""

from rewardkit import tool_call, tool_call_match

reward = tool_call_match() + 0.1 * tool_call().named("format")

_CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>'
_WANTED = [{"name": "weather", "arguments": {"city": "Paris"}}]

EXAMPLES = [
    # response, ground truth, total
    (_CALL, _WANTED, 1.1),
    (_CALL.replace("Paris", "Rome"), _WANTED, 0.1),
    (_CALL.replace("}}", ', "day": 1}}'), _WANTED, 0.1),
    ("It is sunny.", _WANTED, 0.0),
]
