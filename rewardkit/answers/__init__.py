"""Is this answer right? Extraction to one asserted answer, then exact comparison.

Pure functions on texts. What may not enter: the algebra, batches, trainers, sympy (it lives in worker processes
only), and any path from model text to ``eval``, ``sympify`` or ``parse_expr``.
"""

from rewardkit.answers.compare import Comparison, compare
from rewardkit.answers.extract import Answer, Mode, extract
from rewardkit.answers.gsm8k import MODES, Grade, GSM8KMode, grade_gsm8k

__all__ = ["MODES", "Answer", "Comparison", "GSM8KMode", "Grade", "Mode", "compare", "extract", "grade_gsm8k"]
