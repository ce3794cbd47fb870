"""How many steps there are, and what that means for saving, validation and warm-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import ACTOR, Subject

LEFT_OUT: Final = 0.2
"""Share of an epoch that may be left out without a word: verl drops the last batch where it isn't full."""
_SAVE: Final = "trainer.save_freq"
_TEST: Final = "trainer.test_freq"


def total_steps(subject: Subject) -> int | None:
    """Training steps of the run; None when the rows are not known."""
    fixed = subject.integer("trainer.total_training_steps")
    if fixed:
        return fixed
    each = steps_per_epoch(subject)
    return None if each is None else each * subject.integer("trainer.total_epochs", 1)


def steps_per_epoch(subject: Subject) -> int | None:
    """Full batches of an epoch; None when the rows are not known."""
    rows, batch = _rows(subject), subject.integer("data.train_batch_size")
    return rows // batch if rows is not None and batch > 0 else None


def _rows(subject: Subject) -> int | None:
    rows, limit = subject.resolved.rows, subject.integer("data.train_max_samples", -1)
    return rows if rows is None or limit < 0 else min(rows, limit)


def check_schedule(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Frequencies against the number of steps."""
    steps = total_steps(subject)
    save, test = subject.integer(_SAVE, -1), subject.integer(_TEST, -1)
    if save <= 0:
        message = f"is {save}: nothing is saved, so a run that dies starts over and no model is left"
        yield subject.diagnostic("RKD502", _SAVE, message, f"{_SAVE}={_often(steps)}")
    if steps:
        how = _how(subject, steps)
        if save > steps > 1:
            message = f"is {save}, and {how}: only the last step is saved, as global_step_{steps}"
            yield subject.diagnostic("RKD501", _SAVE, message, f"{_SAVE}={_often(steps)}")
        if test > steps > 1:
            message = f"is {test}, and {how}: validation comes at the last step only"
            yield subject.diagnostic("RKD503", _TEST, message, f"{_TEST}={_often(steps)}")
        yield from _warm_up(subject, steps, how)
    own = subject.get("data.val_files") not in (None, subject.get("data.train_files"))
    validates = test > 0 or subject.on("trainer.val_before_train")
    if subject.resolved.where("data.val_files") and own and not validates:
        message = f"is set, and never used: {_TEST} is {test} and trainer.val_before_train is not true"
        yield subject.diagnostic("RKD504", "data.val_files", message, f"{_TEST}={_often(steps)}")
    yield from _dropped(subject)


def _often(steps: int | None) -> int:
    """A frequency that makes some ten saves of a run."""
    return max(1, min(20, (steps or 200) // 10))


def _how(subject: Subject, steps: int) -> str:
    each, rows = steps_per_epoch(subject), _rows(subject)
    if subject.integer("trainer.total_training_steps") or each is None:
        return f"the run has {steps} steps"
    batch, epochs = subject.integer("data.train_batch_size"), subject.integer("trainer.total_epochs", 1)
    return f"{rows:,} rows in batches of {batch:,} are {each} steps an epoch, {steps} in {epochs} epochs"


def _warm_up(subject: Subject, steps: int, how: str) -> Iterator[ConfigDiagnostic]:
    key = f"{ACTOR}.optim.lr_warmup_steps"
    warm_up = subject.integer(key, -1)
    if warm_up >= steps > 1:
        message = f"is {warm_up}, and {how}: the learning rate never gets to its value"
        yield subject.diagnostic("RKD506", key, message, f"{key}={max(1, steps // 20)}")


def _dropped(subject: Subject) -> Iterator[ConfigDiagnostic]:
    rows, batch = _rows(subject), subject.integer("data.train_batch_size")
    if rows is None or not 0 < batch <= rows:
        return
    rest = rows % batch
    if rest / rows > LEFT_OUT:
        message = f"is {batch:,}; of {rows:,} rows {rest:,} ({rest / rows:.0%}) are left out of every epoch"
        fix = f"a batch that divides better, such as {_better(rows, batch):,}"
        yield subject.diagnostic("RKD505", "data.train_batch_size", message, fix)


def _better(rows: int, batch: int) -> int:
    """The batch of at most this size, a multiple of 8 where that goes, that leaves out the fewest rows."""
    step = 8 if batch >= 16 else 1
    sizes = range(batch - batch % step, batch // 2, -step)
    return min(sizes, key=lambda size: rows % size, default=batch)
