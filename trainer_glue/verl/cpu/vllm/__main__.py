"""Print the keys of a run with vLLM on the CPU as arguments, for `rewardkit train` or verl's own command line."""

from __future__ import annotations

import sys

from rewardkit.errors import RewardKitError
from trainer_glue.verl.cpu.vllm import overrides, refuse_untested


def main() -> int:
    """Print them, or say on standard error why such a run can't be had here; an exit code."""
    try:
        refuse_untested()
    except RewardKitError as error:
        print(f"rewardkit: {error}", file=sys.stderr)
        return 2
    for key, value in overrides().items():
        print(f"++{key}={value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
