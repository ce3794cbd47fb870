"""Is this answer right? Extraction to one asserted answer, then exact comparison.

Pure functions on texts. What may not enter: the algebra, batches, trainers, sympy (it lives in worker processes only),
and any path from model text to ``eval``, ``sympify`` or ``parse_expr``.
"""

from rewardkit.answers.choice import grade_choice
from rewardkit.answers.compare import Comparison, compare
from rewardkit.answers.extract import Answer, Mode, extract
from rewardkit.answers.grade import Grade
from rewardkit.answers.gsm8k import MODES, GSM8KMode, grade_gsm8k
from rewardkit.answers.latex.same import MathRules
from rewardkit.answers.math_extract import extract_math
from rewardkit.answers.math_grade import compare_math, grade_math, grade_math_many, shared_pool, truth_texts
from rewardkit.answers.plain import grade_exact, grade_numeric

__all__ = [
    "MODES",
    "Answer",
    "Comparison",
    "GSM8KMode",
    "Grade",
    "MathRules",
    "Mode",
    "compare",
    "compare_math",
    "extract",
    "extract_math",
    "truth_texts",
    "grade_choice",
    "grade_exact",
    "grade_gsm8k",
    "grade_math",
    "grade_math_many",
    "grade_numeric",
    "shared_pool",
]
