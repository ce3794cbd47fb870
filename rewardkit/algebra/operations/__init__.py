"""The operations of the algebra, one family a file. A family that is not imported here does not exist."""

from rewardkit.algebra.operations import arithmetic, calls, comparisons, logic, placement, scaling
from rewardkit.algebra.operations.batch_zscore import batch_zscore as batch_zscore
from rewardkit.algebra.operations.choice import route as route
from rewardkit.algebra.operations.choice import when as when
from rewardkit.algebra.operations.constants import linear as linear
from rewardkit.algebra.operations.constants import schedule as schedule
from rewardkit.algebra.operations.extrema import clip as clip
from rewardkit.algebra.operations.extrema import maximum as maximum
from rewardkit.algebra.operations.extrema import mean as mean
from rewardkit.algebra.operations.extrema import minimum as minimum
from rewardkit.algebra.operations.group_statistics import group_max as group_max
from rewardkit.algebra.operations.group_statistics import group_mean as group_mean
from rewardkit.algebra.operations.group_statistics import group_median as group_median
from rewardkit.algebra.operations.group_statistics import group_min as group_min
from rewardkit.algebra.operations.group_statistics import group_std as group_std
from rewardkit.algebra.operations.groups import group_minmax as group_minmax
from rewardkit.algebra.operations.groups import group_rank as group_rank
from rewardkit.algebra.operations.groups import group_share as group_share
from rewardkit.algebra.operations.groups import group_zscore as group_zscore
from rewardkit.algebra.operations.naming import observe as observe

_WITHOUT_FUNCTIONS = (arithmetic, calls, comparisons, logic, placement, scaling)
"""What is built by operators, methods and terms alone."""
