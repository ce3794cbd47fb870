"""A formula that doesn't have the holes: candidates by rule, each audited by the same attacks before it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rewardkit.algebra.bounds import bounds
from rewardkit.algebra.expression import Expression, Reward, Verdict, number
from rewardkit.algebra.operations import clip, maximum, when
from rewardkit.algebra.operations.arithmetic import Add, Mul
from rewardkit.algebra.operations.constants import Number
from rewardkit.algebra.operations.naming import Named, unnamed
from rewardkit.algebra.operations.scaling import Div, Neg
from rewardkit.analysis.mutation.mutants import replaced
from rewardkit.audit.ground_truths import Kind
from rewardkit.errors import FormulaError
from rewardkit.terms import choice, code_tests, ends_with, exact, gsm8k, length, math_equal

_REFERENCE: Final[Mapping[Kind, Callable[[], Verdict]]] = {
    Kind.NUMBER: gsm8k, Kind.CHOICE: choice, Kind.FORMULA: math_equal, Kind.TEXT: exact, Kind.PROGRAM: code_tests,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fix:
    """A formula without the holes.

    Attributes:
        formula: its text.
        left: the codes of diagnostics that it still has; none of them an error.
        tried: texts that it was audited with.
    """

    formula: str
    left: tuple[str, ...]
    tried: int


def reference(kind: Kind) -> Verdict:
    """The verdict that reads this kind of ground truth."""
    return _REFERENCE[kind]()


def candidates(root: Expression | None, kind: Kind) -> Iterator[Reward]:
    """Formulas that might do what this one was meant to, the most likely first."""
    right = reference(kind)
    seen: set[Expression] = set()
    if isinstance(root, Reward):
        for build in (_stricter, _gated, _gated_whole, _floored):
            for candidate in _built(build, root, right):
                if candidate not in seen and candidate != root:
                    seen.add(candidate)
                    yield candidate
    if right != root:
        yield right


_FAR: Final = 4
"""Times what an addend may be worth, from which on it is held back."""

Builder = Callable[[Reward, Verdict, Verdict], Iterator[Reward]]


def _built(build: Builder, root: Reward, right: Verdict) -> list[Reward]:
    """What a builder makes of a formula; nothing where the algebra refuses it."""
    own = next(
        (n for n in root.walk() if isinstance(n, Verdict) and n.term is not None and _reads_ground_truth(n)), right
    )
    try:
        return list(build(root, own, right))
    except FormulaError:
        return []


def _reads_ground_truth(node: Expression) -> bool:
    return node.term is not None and "ground_truth" in node.term.needs(node)


def _stricter(root: Reward, own: Verdict, right: Verdict) -> Iterator[Reward]:
    """The same formula with a stricter verdict in the place of its own."""
    if own != right and own in set(root.walk()):
        changed = replaced(root, {own: right})
        if isinstance(changed, Reward):
            yield changed


def _gated(root: Reward, own: Verdict, right: Verdict) -> Iterator[Reward]:
    """A right answer is paid its weight and the rest, capped; a wrong one nothing."""
    if not isinstance(root.operation, Add):
        return
    weighted = [(a, w) for a in root.args if (w := _weight(a, own)) is not None]
    if len(weighted) != 1:
        return
    addend, weight = weighted[0]
    for verdict in dict.fromkeys((own, right)):
        paid: Reward = number(weight)
        for other in root.args:
            if other is not addend and isinstance(other, Reward):
                paid = paid + capped(other, weight / 4)
        yield when(verdict, paid, 0)
        yield when(verdict, maximum(paid, weight / 10), 0)


def _weight(node: Expression, verdict: Verdict) -> float | None:
    node = unnamed(node)
    if node == verdict:
        return 1.0
    if isinstance(node.operation, Mul) and len(node.args) == 2 and verdict in node.args:
        plain = [a.operation.value for a in node.args if isinstance(a.operation, Number)]
        return plain[0] if plain and plain[0] > 0 else None
    return None


def _gated_whole(root: Reward, own: Verdict, right: Verdict) -> Iterator[Reward]:
    """The formula as it is, for right answers only; one that looks at no ground truth is a bonus on being right."""
    if own in set(root.walk()):
        for verdict in dict.fromkeys((own, right)):
            changed = replaced(root, {own: verdict})
            if isinstance(changed, Reward):
                yield when(verdict, capped(changed, 1.0), 0)
    else:
        yield when(right, 1 + 0.2 * clip(capped(root, 1.0), 0, 1), 0)


def _floored(root: Reward, own: Verdict, right: Verdict) -> Iterator[Reward]:
    """Whatever is taken away from a right answer, something is left."""
    for verdict in dict.fromkeys((own, right)):
        changed = replaced(root, {own: verdict})
        if isinstance(changed, Reward):
            yield when(verdict, clip(capped(changed, 1.0), 0.1, None), 0)


def capped(node: Reward, most: float) -> Reward:
    """The same with an end to what grows without one, or far: a `length` paid as it is gets a cap, all else a clip."""
    bare = {
        part: ends_with.node(dict(part.params) | {"min_words": 1})
        for part in node.walk()
        if part.term is ends_with and part.param("min_words") == 0
    }
    changed = replaced(node, bare)
    assert isinstance(changed, Reward)
    if _is_small(changed, most):
        return changed
    suffixes = {
        part: length.node(dict(part.params) | {"cap": float(most)})
        for part in _straight(changed)
        if part.term is length and part.param("cap") is None
    }
    changed = replaced(changed, suffixes)
    assert isinstance(changed, Reward)
    return changed if _is_small(changed, most) else clip(changed, max(bounds(changed).low, -most / 2), most)


def _is_small(node: Reward, most: float) -> bool:
    """Whether a formula's pay stays within some times what it may be worth: such a weight is the user's to choose."""
    reach = bounds(node)
    return reach.is_finite and max(abs(reach.low), abs(reach.high)) <= _FAR * most


def _straight(root: Expression) -> Iterator[Expression]:
    """What a formula pays as it is: through sums, names and weights, not through a clip or a condition."""
    yield root
    if isinstance(root.operation, Add | Mul | Named | Neg | Div):
        for operand in root.args:
            yield from _straight(operand)
