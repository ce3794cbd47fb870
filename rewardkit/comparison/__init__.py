"""Rewards on rollouts that are there: what changes where one takes another's place, and what a run would learn of one.

`compare` looks at two rewards, `simulate` at what an estimator would make of one. Each is a formula or a Python
function. What is looked at is what a trainer would see: the pay, the order of the responses, the groups of a prompt,
the advantages. Nothing here prints. No trainer may enter.
"""

from rewardkit.comparison.result import Comparison
from rewardkit.comparison.run import compare
from rewardkit.comparison.sides import Side, load_side
from rewardkit.comparison.simulation import Simulation, simulate

__all__ = ["Comparison", "Side", "Simulation", "compare", "load_side", "simulate"]
