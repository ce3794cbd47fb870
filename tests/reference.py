"""The algebra's meaning, one row at a time, in plain Python: what the compiled program is compared with.

Slow and obvious on purpose. It shares with the engine the terms themselves and the polarity of a place, nothing else.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

from rewardkit import Batch, Status
from rewardkit.algebra.bounds import bounds
from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Expression, TokenReward
from rewardkit.algebra.monotonicity import directions
from rewardkit.algebra.operation import may_step_out
from rewardkit.algebra.operations.arithmetic import Add
from rewardkit.algebra.operations.constants import Number, Schedule
from rewardkit.algebra.operations.groups import Group
from rewardkit.algebra.operations.naming import Named, Observe
from rewardkit.engine.term_runner import run_term

POLICY = {Status.NO_ANSWER, Status.AMBIGUOUS, Status.LIMIT, Status.TIMEOUT}
GONE = {Status.NOT_APPLICABLE}
FAULTS = (Status.ERROR, Status.BAD_GOLD)


@dataclass
class Value:
    value: float | None
    status: Status
    floored: bool = False
    tokens: list[float] | None = None


class Reference:
    def __init__(self, root: Expression, batch: Batch) -> None:
        self.root, self.batch = root, batch
        self.directions = directions(root)

    def total(self, i: int) -> Value:
        value = self.at(self.root, i)
        if value.floored and value.value is not None:
            floor = bounds(self.root).low
            if math.isinf(floor):
                return Value(None, Status.ERROR)
            n = self.count(i)
            return Value(floor, value.status, tokens=[0.0] * (n - 1) + [floor] if n else [])
        return value

    def count(self, i: int) -> int:
        return len(self.batch.tokens[i]) if self.batch.tokens is not None else 0

    def at(self, node: Expression, i: int) -> Value:
        args = [self.at(a, i) for a in node.args]
        if node.operation.json_name in ("mul", "minimum", "maximum"):
            args = self.asked(node, args)
        return getattr(self, f"_{node.operation.json_name}")(node, args, i)

    def asked(self, node: Expression, args: list[Value]) -> list[Value]:
        """An expensive operand counts as a copy of a cheaper one that decides without it."""
        args, name = list(args), node.operation.json_name
        for k in sorted(range(len(args)), key=lambda k: price(node.args[k])):
            expensive = node.args[k]
            if price(expensive) < price_of("worker") or may_step_out(expensive) or comes_later(expensive):
                continue
            for other, v in zip(node.args, list(args), strict=True):
                if price(other) >= price(expensive) or comes_later(other) or v.value is None or v.floored:
                    continue
                least, most = bounds(expensive).low, bounds(expensive).high
                if {"mul": v.value == 0, "minimum": v.value <= least, "maximum": v.value >= most}[name]:
                    args[k] = Value(v.value, v.status)
                    break
        return args

    # --- leaves

    def _number(self, node: Any, args: Any, i: int) -> Value:
        return Value(node.param("value"), Status.SCORED)

    def _schedule(self, node: Any, args: Any, i: int) -> Value:
        points, step = node.param("points"), self.batch.step
        if step is None or step <= points[0][0]:
            return Value(points[0][1], Status.SCORED)
        if step >= points[-1][0]:
            return Value(points[-1][1], Status.SCORED)
        at = max(k for k in range(len(points)) if points[k][0] <= step)
        (s0, v0), (s1, v1) = points[at], points[at + 1]
        if node.param("shape") == "linear":
            return Value(v0 + (v1 - v0) * (step - s0) / (s1 - s0), Status.SCORED)
        return Value(v0, Status.SCORED)

    def _term(self, node: Any, args: Any, i: int) -> Value:
        column = run_term(node, self.batch.take([i]))
        status = Status(int(column.statuses[0]))
        if status in POLICY:
            ends = node.term.failure_bounds(node)
            worst = ends.high if self.directions[node] is Direction.FALLS else ends.low
            mixed = self.directions[node] is Direction.MIXED
            return Value(worst, status, mixed, self.end(worst, i) if isinstance(node, TokenReward) else None)
        if status is not Status.SCORED:
            return Value(None, status, tokens=self.end(0.0, i) if isinstance(node, TokenReward) else None)
        dense = list(map(float, column.tokens[0])) if column.tokens is not None else None
        return Value(float(column.values[0]), status, tokens=dense)

    def end(self, value: float, i: int) -> list[float]:
        n = self.count(i)
        return [0.0] * (n - 1) + [value] if n else []

    def tokens_of(self, v: Value, i: int) -> list[float]:
        return v.tokens if v.tokens is not None else self.end(v.value or 0.0, i)

    # --- statuses

    def compose(self, node: Any, args: list[Value], value: Any, *, folding: bool) -> Value:
        for fault in FAULTS:
            if any(a.status is fault for a in args):
                return self.close(None, fault, args)
        gone = [a.status in GONE for a in args]
        if folding:
            paid = (
                [g for a, g in zip(node.args, gone, strict=True) if not observed(a)]
                if isinstance(node.operation, Add)
                else gone
            )
            out = all(paid or gone)
        else:
            out = any(gone)
        if out:
            return self.close(None, Status.NOT_APPLICABLE, args)
        counted = [
            a.status
            for n, a in zip(node.args, args, strict=True)
            if not isinstance(n.operation, Number | Schedule | Observe) and a.status not in GONE
        ]
        status = counted[0] if counted and all(s in POLICY for s in counted) else Status.SCORED
        result = value()
        return self.close(result, status if math.isfinite(result) else Status.ERROR, args)

    def close(self, value: float | None, status: Status, args: list[Value]) -> Value:
        if value is not None and not math.isfinite(value):
            value = None
        return Value(value, status, any(a.floored for a in args))

    # --- arithmetic

    def _add(self, node: Any, args: list[Value], i: int) -> Value:
        v = self.compose(node, args, lambda: sum(a.value for a in args if a.value is not None), folding=True)
        if isinstance(node, TokenReward):
            columns = [self.tokens_of(a, i) for a in args]
            v.tokens = [sum(parts) for parts in zip(*columns, strict=True)]
        return v

    def _mul(self, node: Any, args: list[Value], i: int) -> Value:
        v = self.compose(node, args, lambda: math.prod(a.value for a in args), folding=False)
        if isinstance(node, TokenReward):
            at = next(k for k, n in enumerate(node.args) if isinstance(n, TokenReward))
            factor = math.prod((a.value or 0.0) for k, a in enumerate(args) if k != at)
            v.tokens = [t * factor for t in self.tokens_of(args[at], i)]
        return v

    def scaled(self, node: Any, args: list[Value], factor: float, value: Any) -> Value:
        v = self.compose(node, args, value, folding=False)
        if args[0].tokens is not None:
            v.tokens = [t * factor for t in args[0].tokens]
        return v

    def _neg(self, node: Any, args: list[Value], i: int) -> Value:
        return self.scaled(node, args, -1.0, lambda: -args[0].value)

    def _div(self, node: Any, args: list[Value], i: int) -> Value:
        return self.scaled(node, args, 1 / args[1].value, lambda: args[0].value / args[1].value)

    def _clip(self, node: Any, args: list[Value], i: int) -> Value:
        low, high = node.param("low"), node.param("high")

        def clipped() -> float:
            x = args[0].value
            x = x if low is None else max(x, low)
            return x if high is None else min(x, high)

        return self.compose(node, args, clipped, folding=False)

    def _minimum(self, node: Any, args: list[Value], i: int) -> Value:
        return self.compose(node, args, lambda: min(a.value for a in args if a.value is not None), folding=True)

    def _maximum(self, node: Any, args: list[Value], i: int) -> Value:
        return self.compose(node, args, lambda: max(a.value for a in args if a.value is not None), folding=True)

    def _mean(self, node: Any, args: list[Value], i: int) -> Value:
        def mean() -> float:
            present = [a.value for a in args if a.value is not None]
            return sum(present) / len(present)

        return self.compose(node, args, mean, folding=True)

    # --- conditions

    def compared(self, node: Any, args: list[Value], op: Any) -> Value:
        return self.compose(node, args, lambda: float(op(args[0].value, args[1].value)), folding=False)

    def _lt(self, node: Any, args: Any, i: int) -> Value:
        return self.compared(node, args, lambda a, b: a < b)

    def _le(self, node: Any, args: Any, i: int) -> Value:
        return self.compared(node, args, lambda a, b: a <= b)

    def _gt(self, node: Any, args: Any, i: int) -> Value:
        return self.compared(node, args, lambda a, b: a > b)

    def _ge(self, node: Any, args: Any, i: int) -> Value:
        return self.compared(node, args, lambda a, b: a >= b)

    def logic(self, node: Any, args: list[Value], decides: float) -> Value:
        deciding = [a for a in args if a.value == decides]
        if deciding:
            scored = any(a.status is Status.SCORED for a in deciding)
            status = Status.SCORED if scored else deciding[0].status
            return Value(decides, status, all(a.floored for a in deciding))
        return self.compose(node, args, lambda: 1.0 - decides, folding=False)

    def _and(self, node: Any, args: Any, i: int) -> Value:
        return self.logic(node, args, 0.0)

    def _or(self, node: Any, args: Any, i: int) -> Value:
        return self.logic(node, args, 1.0)

    def _not(self, node: Any, args: Any, i: int) -> Value:
        return self.compose(node, args, lambda: 1.0 - args[0].value, folding=False)

    # --- choice

    def chosen(self, node: Any, v: Value, i: int, condition: Value | None = None) -> Value:
        floored = v.floored or (condition is not None and condition.floored)
        return Value(v.value, v.status, floored, self.tokens_of(v, i) if isinstance(node, TokenReward) else None)

    def _when(self, node: Any, args: list[Value], i: int) -> Value:
        condition, then, otherwise = args
        if condition.value is None:
            tokens = self.end(0.0, i) if isinstance(node, TokenReward) else None
            return Value(None, condition.status, condition.floored, tokens)
        return self.chosen(node, then if condition.value == 1 else otherwise, i, condition)

    def _route(self, node: Any, args: list[Value], i: int) -> Value:
        keys, source = node.param("keys"), self.batch.data_sources[i] if self.batch.data_sources else None
        if source in keys:
            return self.chosen(node, args[keys.index(source)], i)
        return self.chosen(node, args[-1], i) if len(args) > len(keys) else Value(None, Status.NOT_APPLICABLE)

    # --- groups

    def group(self, node: Any, v: Value, i: int, rule: Any, *, everyone: bool = False) -> Value:
        if v.value is None:
            return v
        own = self.batch.groups[i]
        rows = [j for j in range(len(self.batch)) if everyone or self.batch.groups[j] == own]
        members = [self.at(node.args[0], j).value for j in rows]
        return Value(rule(v.value, [m for m in members if m is not None]), v.status, v.floored)

    def _group_zscore(self, node: Any, args: Any, i: int) -> Value:
        return self.group(node, args[0], i, zscore)

    def _batch_zscore(self, node: Any, args: Any, i: int) -> Value:
        return self.group(node, args[0], i, zscore, everyone=True)

    def _group_mean(self, node: Any, args: Any, i: int) -> Value:
        return self.group(node, args[0], i, lambda x, group: sum(group) / len(group))

    def _group_median(self, node: Any, args: Any, i: int) -> Value:
        return self.group(node, args[0], i, lambda x, group: statistics.median(group))

    def _group_min(self, node: Any, args: Any, i: int) -> Value:
        return self.group(node, args[0], i, lambda x, group: min(group))

    def _group_max(self, node: Any, args: Any, i: int) -> Value:
        return self.group(node, args[0], i, lambda x, group: max(group))

    def _group_std(self, node: Any, args: Any, i: int) -> Value:
        return self.group(node, args[0], i, lambda x, group: statistics.stdev(group) if len(group) > 1 else 0.0)

    def _group_rank(self, node: Any, args: Any, i: int) -> Value:
        def rule(x: float, group: list[float]) -> float:
            if len(group) < 2:
                return 0.5
            return (sum(g < x for g in group) + (sum(g == x for g in group) - 1) / 2) / (len(group) - 1)

        return self.group(node, args[0], i, rule)

    def _group_minmax(self, node: Any, args: Any, i: int) -> Value:
        def rule(x: float, group: list[float]) -> float:
            return 0.5 if max(group) == min(group) else (x - min(group)) / (max(group) - min(group))

        return self.group(node, args[0], i, rule)

    def _group_share(self, node: Any, args: Any, i: int) -> Value:
        if args[0].value is None:
            return args[0]
        if args[0].status in POLICY:
            worst = 1.0 if self.directions[node] is Direction.FALLS else 0.0
            return Value(worst, args[0].status, args[0].floored)
        own, members = self.batch.groups[i], []
        for j in range(len(self.batch)):
            if self.batch.groups[j] == own:
                members.append(self.at(node.args[0], j))
        present = [f for f in members if f.value is not None]
        equal = [f for f in present if f.value == args[0].value and f.status not in POLICY]
        return Value(len(equal) / len(present), args[0].status, args[0].floored)

    # --- names and places

    def _named(self, node: Any, args: Any, i: int) -> Value:
        return args[0]

    def _observe(self, node: Any, args: Any, i: int) -> Value:
        return Value(0.0, Status.SCORED, tokens=self.end(0.0, i) if isinstance(node, TokenReward) else None)

    def _total(self, node: Any, args: Any, i: int) -> Value:
        return Value(args[0].value, args[0].status, args[0].floored)

    def _spread(self, node: Any, args: Any, i: int) -> Value:
        n = self.count(i)
        return Value(args[0].value, args[0].status, args[0].floored, [(args[0].value or 0.0) / max(n, 1)] * n)

    def _on(self, node: Any, args: Any, i: int) -> Value:
        n = self.count(i)
        tokens = [0.0] * n
        ends = [k + 1 for k, c in enumerate(self.batch.responses[i]) if c == node.param("pattern")]
        hits = [min(end - 1, n - 1) for end in ends] or [n - 1]
        for hit in hits:
            if n:
                tokens[hit] += (args[0].value or 0.0) / len(hits)
        return Value(args[0].value, args[0].status, args[0].floored, tokens)


def zscore(x: float, group: list[float]) -> float:
    if len(group) < 2:
        return 0.0
    mean = sum(group) / len(group)
    spread = math.sqrt(sum((g - mean) ** 2 for g in group) / (len(group) - 1))
    return (x - mean) / (spread + 1e-6)


def price_of(cost: str) -> int:
    return ["cheap", "cpu", "worker", "remote"].index(cost)


def price(node: Expression) -> int:
    return max((price_of(n.term.cost) for n in node.walk() if n.term is not None), default=0)


def comes_later(node: Expression) -> bool:
    """Not known row by row: it is about tokens, the group or the step."""
    late = any(isinstance(n.operation, Schedule | Group) for n in node.walk())
    return late or isinstance(node, TokenReward)


def observed(node: Expression) -> bool:
    while isinstance(node.operation, Named):
        node = node.args[0]
    return isinstance(node.operation, Observe)
