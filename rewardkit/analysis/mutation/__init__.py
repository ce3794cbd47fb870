"""Change a formula on purpose and ask whether anybody notices.

A reward's examples are worth what they would catch. Each mutant is the formula with one slip in it, of the kind that
people make: a term left out, a sign turned, a weight doubled, a gate open. A mutant that no example notices is a part
of the reward that nothing checks.
"""

from rewardkit.analysis.mutation.examples import Example, examples_of_file, examples_of_module
from rewardkit.analysis.mutation.mutants import Mutant, mutants
from rewardkit.analysis.mutation.run import Noticed, notice

__all__ = ["Example", "Mutant", "Noticed", "examples_of_file", "examples_of_module", "mutants", "notice"]
