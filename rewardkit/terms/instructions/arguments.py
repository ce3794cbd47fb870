"""The arguments of an instruction, checked once: a row whose instruction lacks one can't be scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_RELATIONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "less than": lambda count, n: count < n,
    "at most": lambda count, n: count <= n,
    "at least": lambda count, n: count >= n,
    "more than": lambda count, n: count > n,
}


def listed(value: Any) -> Any:
    """A list, where a table has an array."""
    return value.tolist() if hasattr(value, "tolist") else value


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one instruction, by name; those that are None are not there."""

    instruction: str
    given: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A text, not blank."""
        value = self.given.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(name, "a text")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        value = listed(self.given.get(name))
        if not isinstance(value, list | tuple) or not value or not all(isinstance(v, str) and v for v in value):
            raise self._wrong(name, "a list of texts")
        return list(value)

    def number(self, name: str, least: int = 0) -> int:
        """A whole number; tables write it as a float where another row has none."""
        value = self.given.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1 or value < least:
            raise self._wrong(name, f"a whole number of at least {least}")
        return int(value)

    def letter(self) -> str:
        """One character."""
        value = self.text("letter").strip()
        if len(value) != 1:
            raise self._wrong("letter", "one character")
        return value

    def compared(self, number: str, relation: str = "relation") -> Callable[[int], bool]:
        """How a count compares with a number, by a relation such as ``at least``."""
        rule, n = _RELATIONS.get(self.text(relation)), self.number(number)
        if rule is None:
            raise self._wrong(relation, " or ".join(_RELATIONS))
        return lambda count: rule(count, n)

    def quantified(self, slack: Callable[[int], int]) -> Callable[[int], bool]:
        """How a count compares with ``N`` by RLVR-IFeval's ``quantifier``; ``slack`` is how far ``around`` reaches."""
        n, quantifier = self.number("N"), self.text("quantifier")
        if quantifier == "around":
            return lambda count: abs(count - n) <= slack(n)
        if quantifier not in ("at least", "at most"):
            raise self._wrong("quantifier", "at least, around or at most")
        return lambda count: _RELATIONS[quantifier](count, n)

    def _wrong(self, name: str, expected: str) -> ValueError:
        return ValueError(f"{self.instruction}: {name} is {self.given.get(name)!r:.60}; expected {expected}")
