"""The built-in terms, one family a file."""

from rewardkit.terms.answers import gsm8k
from rewardkit.terms.endings import ends_with
from rewardkit.terms.lengths import length

__all__ = ["ends_with", "gsm8k", "length"]
