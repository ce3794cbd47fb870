"""Formula <-> text, formula <-> JSON, and the fingerprint.

``parse(repr(r)) == r`` and ``from_json(to_json(r)) == r`` for every formula.
"""

from rewardkit.text.parsing import parse, parse_any
from rewardkit.text.serial import fingerprint, from_json, to_json

__all__ = ["fingerprint", "from_json", "parse", "parse_any", "to_json"]
