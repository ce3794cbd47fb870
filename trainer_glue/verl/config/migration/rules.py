"""The rules of a migration: what each key of an older file becomes, over a file that is edited in place.

The rules run in the order of :func:`apply`. Each sees what those before it left. What a rule can't know it leaves as it
is, for the checks of the result to find.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_glue.verl.chat_templates import CHAT_TEMPLATES
from trainer_glue.verl.config.dead_keys import moved_key, new_place, old_value
from trainer_glue.verl.config.idle_keys import idle
from trainer_glue.verl.config.keys import check_key
from trainer_glue.verl.config.migration.edits import Edits
from trainer_glue.verl.config.migration.report import Change
from trainer_glue.verl.config.migration.reward import find_old_reward
from trainer_glue.verl.config.schema import Key
from trainer_glue.verl.config.wiring import TEMPLATE
from trainer_glue.verl.config.written import SECTION, dig
from trainer_glue.verl.versions.keys import Dropped, Moved

_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_NOT_VERLS: Final = (SECTION, "hydra", "defaults")
_REFERENCE: Final = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:,(\w*))?\}")
_MICRO_BATCHES: Final = (
    f"{_ACTOR}.ppo_micro_batch_size",
    f"{_REF}.log_prob_micro_batch_size",
    f"{_ROLLOUT}.log_prob_micro_batch_size",
    "critic.ppo_micro_batch_size",
    "critic.forward_micro_batch_size",
)


class Migration:
    """A file on its way to verl 0.9.1.

    Args:
        edits: the file.
        schema: of the installed verl.
        defaults: its default config.
    """

    def __init__(self, edits: Edits, schema: Key, defaults: Mapping[str, Any]) -> None:
        self.edits = edits
        self.changes: list[Change] = []
        self._schema = schema
        self._defaults = defaults
        self._before = copy.deepcopy(edits.data)
        self._leaves = [k for k in edits if not edits.is_section(k) and k.partition(".")[0] not in _NOT_VERLS]
        self._done: set[str] = set()

    def apply(self) -> list[Change]:
        """Run the rules; the changes, in the order of the file."""
        self._references()
        self._reward()
        self._filter_metric()
        self._template()
        for key in self._left():
            self._moved(key)
        for key in self._left():
            self._values(key)
        for key in _MICRO_BATCHES:
            self._micro_batch(key)
        for key in self._left():
            self._null(key)
        self._idle()
        self._missing()
        self.changes += [Change("kept", k, self.edits.line(k)) for k in self._left()]
        return sorted(self.changes, key=lambda c: (c.line is None, c.line or 0))

    def _left(self) -> list[str]:
        return [k for k in self._leaves if k not in self._done]

    def _get(self, key: str) -> Any:
        """What the file says for a key, edits included, else verl's default; one reference is followed."""
        value = dig(self.edits.data, key)
        value = dig(self._defaults, key) if value is None else value
        reference = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        return value if reference is None else self._get(reference[1])

    def _drop(self, key: str, why: str) -> None:
        self._note("dropped", key, why)
        self.edits.drop(key)

    def _note(self, kind: Any, key: str, why: str = "", **more: Any) -> None:
        self._done.add(key)
        self.changes.append(Change(kind, key, self.edits.line(key), why, **more))

    def _add(self, key: str, value: Any, why: str) -> None:
        if key in self.edits:
            self._note("changed", key, f"it was null; {why}", value=value)
            self.edits.replace(key, value)
        else:
            self.edits.add(key, value)
            self.changes.append(Change("added", key, None, why, value=value))

    def _settle(self, old: str, new: str, value: Any, why: str, *, over: bool = False) -> None:
        """Put the value of an old key under the new one.

        Args:
            old: the old key.
            new: the new key.
            value: the value, converted where it had to be.
            why: the reason.
            over: whether the old key's value counts where both are set.
        """
        there = dig(self.edits.data, new)
        if there is not None and not over:
            self._drop(old, f"{new} is set too")
            return
        before = dig(self.edits.data, old)
        converted = value != before or type(value) is not type(before)
        self._note("renamed", old, f"{why}; now {value!r}" if converted else why, to=new, value=value)
        if new in self.edits and (there is not None or dig(self._before, new) is None):
            self.edits.replace(new, value)
            self.edits.drop(old)
            self._done.add(new)
            return
        if converted:
            self.edits.replace(old, value)
        self.edits.move(old, new)

    def _references(self) -> None:
        """Interpolations follow the keys that move."""
        for key in self._leaves:
            moved = moved_key(key, self._schema)
            new = new_place(moved, key, self._schema) if moved else None
            if key in _MICRO_BATCHES and dig(self._before, key) is not None:
                new = f"{key}_per_gpu"
            if new is not None:
                self.edits.rename_references(key, new)

    def _reward(self) -> None:
        old = find_old_reward(self.edits.data)
        for key, why in old.dropped.items():
            if key in self.edits:
                self._drop(key, why)
        if dig(self.edits.data, f"{SECTION}.reward") is None and f"{SECTION}.reward" not in self.edits:
            root = next((k for k in old.dropped if k in self.edits), None)
            at = root.partition(".")[0] if root and SECTION not in self.edits else None
            self.edits.add(f"{SECTION}.reward", old.formula, notes=[old.why], at=at)
            self.changes.append(Change("added", f"{SECTION}.reward", None, old.why, value=old.formula))

    def _filter_metric(self) -> None:
        """DAPO's recipes filter groups by `acc` or a total, under several names; here it is a name of the formula."""
        key = "algorithm.filter_groups.metric"
        value = dig(self.edits.data, key)
        if value not in ("acc", "score", "seq_reward", "seq_final_reward"):
            return
        formula = str(dig(self.edits.data, f"{SECTION}.reward"))
        verdict = next((name for name in ("math_equal", "gsm8k") if f"{name}(" in formula), "reward")
        new = verdict if value == "acc" else "reward"
        self._note("changed", key, f"it was {value!r}; here it is a name of the formula, or reward", value=new)
        self.edits.replace(key, new)

    def _template(self) -> None:
        key = "data.chat_template"
        name = dig(self.edits.data, key)
        if name is None or key not in self.edits:
            return
        new = f"{SECTION}.chat_template" if name in CHAT_TEMPLATES else TEMPLATE
        if isinstance(name, str) and (new != TEMPLATE or "{" in name):
            self._settle(key, new, name, "verl ignores it in the data section")

    def _moved(self, key: str) -> None:
        moved = moved_key(key, self._schema)
        if moved is None:
            return
        value, why = dig(self.edits.data, key), moved.why
        new = new_place(moved, key, self._schema)
        if value is None:
            self._drop(key, f"it {why}, and null sets nothing")
            return
        if new is None:
            self._drop(key, f"it {why}{_advice(moved)}")
            return
        if moved.convert is not None:
            value = moved.convert(value, lambda k: dig(self._before, k))
            if isinstance(value, Dropped):
                self._drop(key, value.why)
                return
        self._settle(key, new, value, f"it {why}", over=moved.ignored and moved.severity == "warning")

    def _values(self, key: str) -> None:
        value = dig(self.edits.data, key)
        old = old_value(key, value)
        if old is None:
            return
        if old.new is None:
            self._drop(key, f"its value was {old.value!r}, {old.why}")
        else:
            self._note("changed", key, f"it was {old.value!r}, {old.why}", value=old.new)
            self.edits.replace(key, old.new)

    def _micro_batch(self, key: str) -> None:
        """A size over all GPUs becomes the size on each, as verl itself converted it."""
        value, ranks = dig(self.edits.data, key), self._ranks()
        if value is None or key not in self.edits:
            return
        new = f"{key}_per_gpu"
        why = f"it is deprecated; {ranks} GPUs shared it"
        self._settle(key, new, max(1, value // ranks) if isinstance(value, int) else value, why)

    def _null(self, key: str) -> None:
        """A null, or the text None, where verl no longer takes it: its default then stands."""
        value = dig(self.edits.data, key)
        if value is not None and value != "None":
            return
        if any(f.code == "wrong-type" for f in check_key(key, value, self._schema, lambda _: "")):
            self._drop(key, "null may not stand here any more; verl's default does")

    def _idle(self) -> None:
        for needs in idle(self._get):
            for key in self._left():
                if key == needs.key or key.startswith(f"{needs.key}."):
                    self._drop(key, f"it {needs.why}")

    def _missing(self) -> None:
        """What older versions had a default for, or never asked for."""
        if self._get(f"{_ROLLOUT}.name") in (None, "???"):
            self._add(f"{_ROLLOUT}.name", "vllm", "verl has no default for it any more; this was it")
        if self._get(f"{_ACTOR}.use_dynamic_bsz") is True:
            return
        first = f"{_ACTOR}.ppo_micro_batch_size_per_gpu"
        for key in self._wanted():
            if self._get(key) is None and self._get(key.removesuffix("_per_gpu")) is None:
                why = "verl has no default for it" if key == first else f"verl has no default for it; as {first}"
                self._add(key, self._micro(1 if key == first else self._get(first), key), why)

    def _wanted(self) -> Iterator[str]:
        yield f"{_ACTOR}.ppo_micro_batch_size_per_gpu"
        yield f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu"
        if self._get(f"{_ACTOR}.use_kl_loss") is True or self._get("algorithm.use_kl_in_reward") is True:
            yield f"{_REF}.log_prob_micro_batch_size_per_gpu"

    def _micro(self, size: Any, key: str) -> int:
        """At most `size` rows, and a divisor of the rows that a GPU gets."""
        batch = self._get(f"{_ACTOR}.ppo_mini_batch_size" if ".actor." in key else "data.train_batch_size")
        n = self._get(f"{_ROLLOUT}.n")
        if not all(isinstance(v, int) and v > 0 for v in (size, batch, n)):
            return 1
        share = max(1, batch * n // self._ranks())
        return next(m for m in range(min(size, share), 0, -1) if share % m == 0)

    def _ranks(self) -> int:
        each, nodes = self._get("trainer.n_gpus_per_node"), self._get("trainer.nnodes")
        return max(1, each * nodes) if isinstance(each, int) and isinstance(nodes, int) else 1


def _advice(moved: Moved) -> str:
    hint = moved.hint.removeprefix("leave it out").lstrip(": ")
    return f"; {hint}" if hint else ""
