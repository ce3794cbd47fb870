"""``python -m rewardkit`` is the command ``rewardkit``."""

from rewardkit.cli import main

main()
