"""Property tests for your own reward, by hypothesis.

    from rewardkit import gsm8k, length
    from rewardkit.laws import dominates, laws

    test_my_reward = laws(gsm8k() + length(0.01, cap=0.5), dominates(gsm8k()))

Nothing else in the SDK may import this package: hypothesis comes with the extra ``testing``.
"""

try:
    import hypothesis  # noqa: F401
except ImportError as e:
    from rewardkit.errors import MissingDependencyError

    raise MissingDependencyError(
        "rewardkit.laws needs hypothesis, which is not installed", hint="pip install 'rewardkit-rl[testing]'"
    ) from e

from rewardkit.laws.always import ALWAYS
from rewardkit.laws.law import Law, LawBroken
from rewardkit.laws.run import Outcome, check, laws
from rewardkit.laws.stated import bounded_by_length, dominates, ignores, monotone
from rewardkit.laws.texts import groups, responses

__all__ = [
    "ALWAYS",
    "Law",
    "LawBroken",
    "Outcome",
    "bounded_by_length",
    "check",
    "dominates",
    "groups",
    "ignores",
    "laws",
    "monotone",
    "responses",
]
