"""Scoring files: rows read in chunks, scored by a program, written one line a row, in memory that doesn't grow.

The command line stands on this; nothing here prints or knows a terminal. No trainer may enter.
"""

from rewardkit.scoring.files import score_file
from rewardkit.scoring.profile import Profile
from rewardkit.scoring.tally import Tally

__all__ = ["Profile", "Tally", "score_file"]
