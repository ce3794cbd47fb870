"""Two rewards on the same rows: what changes where the new one takes the old one's place.

Each side is a formula or a Python function. What is looked at is what a trainer would see of it: the pay, the order of
the responses, the groups of a prompt and the signs of GRPO's advantages. Nothing here prints. No trainer may enter.
"""

from rewardkit.comparison.result import Comparison
from rewardkit.comparison.run import compare
from rewardkit.comparison.sides import Side, load_side

__all__ = ["Comparison", "Side", "compare", "load_side"]
