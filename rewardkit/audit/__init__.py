"""Attack a reward on real rows before a policy does.

    from rewardkit.audit import FormulaSubject, audit, read_problems

The order is: find out in which form the reward reads answers, try what families of attacks make of each row, combine
them, search on from the best, and say what was paid for what. Only the command line imports this package.
"""

from rewardkit.audit.diagnostics import AuditDiagnostic, Evidence
from rewardkit.audit.function import FunctionSubject
from rewardkit.audit.load import load_subject
from rewardkit.audit.problems import Problem, problem_of, read_problems
from rewardkit.audit.report import AuditReport
from rewardkit.audit.run import BUDGET_S, ROWS, audit
from rewardkit.audit.subject import FormulaSubject, Subject

__all__ = [
    "BUDGET_S",
    "ROWS",
    "AuditDiagnostic",
    "AuditReport",
    "Evidence",
    "FormulaSubject",
    "FunctionSubject",
    "Problem",
    "Subject",
    "audit",
    "load_subject",
    "problem_of",
    "read_problems",
]
