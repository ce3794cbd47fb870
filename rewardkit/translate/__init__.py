"""Existing reward functions, read as formulas: verl's `compute_score`, or TRL's functions over completions.

A file is read as a syntax tree and never imported. What the algebra has no word for is left out and named; what it says
by another rule is named, too. No trainer may enter.
"""

from rewardkit.translate.file import Translation, translate, translate_file
from rewardkit.translate.notes import Note
from rewardkit.translate.values import Level

__all__ = ["Level", "Note", "Translation", "translate", "translate_file"]
