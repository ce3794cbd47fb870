"""What a training run paid for: rollouts that verl or TRL dumped, or `rewardkit score` scored, summed up for a person.

Rows stream: sums are exact, what is drawn and compared comes from an even sample. matplotlib and jinja2 are imported
for the page only. No trainer may enter: their dumps are read by shape.
"""

from rewardkit.report.result import Note, RolloutReport
from rewardkit.report.run import report_on

__all__ = ["Note", "RolloutReport", "report_on"]
