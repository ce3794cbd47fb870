"""A run from its plan to its end: verl started, watched, stopped, and what it leaves put in order."""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rewardkit.errors import CheckpointError, RunError, no_room
from rewardkit.processes.isolated import PYTHON
from trainer_glue.verl.launch import summary
from trainer_glue.verl.launch.checkpoints import Mended, latest, mend, step_folder
from trainer_glue.verl.launch.child import Child
from trainer_glue.verl.launch.command import starts_ray
from trainer_glue.verl.launch.export import check_export, export, export_folder
from trainer_glue.verl.launch.failure import explain, hint_for
from trainer_glue.verl.launch.folder import RunFolder, locked, write_whole
from trainer_glue.verl.launch.metrics import Reader, Step, fold
from trainer_glue.verl.launch.plan import Plan
from trainer_glue.verl.launch.progress import Progress
from trainer_glue.verl.launch.record import Attempt, RunRecord, State, utc_now, versions
from trainer_glue.verl.tiny import TinyAssets

if TYPE_CHECKING:
    from rich.console import Console

_POLL: Final = 0.2
_SCRATCH: Final = "/tmp"
"""Not the user's TMPDIR: Ray puts sockets 75 characters further down, and a socket's path has at most 107."""
_MAKE_TINY: Final = (
    "import pathlib, sys; from trainer_glue.verl.tiny import make_tiny;"
    "make_tiny(pathlib.Path(sys.argv[1]), int(sys.argv[2]))"
)
_SIGKILL: Final = 128 + signal.SIGKILL
_KILLED: Final = "something killed it, and most often that is the kernel for want of memory: see `dmesg`"
_TOTAL_IN_LOG: Final = re.compile(r"Total training steps: (\d+)")


class Terminated(BaseException):
    """The command was told to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Run:
    """One start of a planned run.

    Args:
        plan: what to do.
        console: where progress goes.
        command: the user's command line, for the record.
        exports: whether a run that reaches its end is written as a Hugging Face model, too.
    """

    def __init__(self, plan: Plan, console: Console, command: tuple[str, ...], *, exports: bool = False) -> None:
        self.plan = plan
        self.exports = exports
        self.folder: RunFolder = plan.folder
        self.console = console
        self.command = command

    def run(self) -> None:
        """Train to the end. The same plan again goes on from the last checkpoint.

        Raises:
            RunError: verl died, or the disk is full.
            ConfigError: a model is to be exported, and no checkpoint would be saved.
            CheckpointError: the last checkpoint can't be exported.
            KeyboardInterrupt, Terminated: it was stopped; all of verl is gone by then.
        """
        try:
            self._run()
        except OSError as e:
            if (why := no_room(e)) is None:
                raise
            raise self._full(why, e) from e

    def _run(self) -> None:
        if self.exports:
            check_export(self.plan)
        self._say_what()
        with _signals_raise(), locked(self.folder) as lock:
            steps = summary.training_steps(fold(self.folder))
            mended = mend(self.folder.checkpoints)
            for note in mended.notes:
                self._say(f"checkpoints: {note}")
            from_step = mended.step if self.plan.resumes else 0
            if self._is_finished(from_step):
                self._say_result(steps)
                return
            if from_step:
                self._say(f"going on from the checkpoint of step {from_step}")
            record = self._record(from_step)
            record.write(self.folder.record)
            state: State = "stopped"
            try:
                start = self._open_log()
                code = self._make_assets(lock) or self._watch(lock, start)
                state = "finished" if code == 0 else "failed"
            except Exception:
                state = "failed"
                raise
            finally:
                steps = self._close(record, state)
            if code != 0:
                raise self._death(code, start, self._next_start(latest(self.folder.checkpoints)))
            self._say_result(steps)

    def _say(self, text: str, style: str = "") -> None:
        self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def _say_what(self) -> None:
        resolved = self.plan.resolved
        self._say(f"reward  {resolved.reward.formula}")
        self._say(f"model   {_short(self.plan.model)}")
        self._say(f"folder  {_short(self.folder.path)}  (verl's own output: {self.folder.log.name})")
        if not resolved.accelerator:
            ranks = f"{resolved.ranks} rank{'s' if resolved.ranks > 1 else ''}"
            self._say(f"device  CPU, {ranks}: no accelerator was found, so verl runs with rewardkit's CPU platform")
        for note in self.plan.notes:
            self._say(f"warning: {note}", style="yellow")

    def _is_finished(self, checkpoint: int) -> bool:
        """Whether earlier starts did all of it; says so."""
        earlier, total = self.plan.earlier, self.plan.total_steps
        if earlier is None or checkpoint == 0:
            return False
        if checkpoint < total if total is not None else earlier.state != "finished":
            return False
        if earlier.state != "finished":  # killed between its last save and its end
            self._close(earlier, "finished")
        self._say(f"this run is finished: all of its {checkpoint} steps are done")
        return True

    def _record(self, from_step: int) -> RunRecord:
        plan, resolved, earlier = self.plan, self.plan.resolved, self.plan.earlier
        return RunRecord(
            state="running",
            formula=resolved.reward.formula,
            fingerprint=resolved.reward.fingerprint,
            reward=resolved.reward.origin,
            seed=resolved.seed,
            ranks=resolved.ranks,
            accelerator=resolved.accelerator,
            versions=versions(),
            command=self.command,
            verl_command=plan.verl.argv,
            attempts=(*(earlier.attempts if earlier else ()), Attempt(utc_now(), from_step)),
            steps=from_step,
            total_steps=plan.total_steps,
            checkpoint=self._checkpoint(from_step),
            folder=str(self.folder.path),
            config=plan.verl.config,
        )

    def _checkpoint(self, step: int) -> str | None:
        if step == 0:
            return None
        path = step_folder(self.folder.checkpoints, step)
        return str(path.relative_to(self.folder.path)) if path.is_relative_to(self.folder.path) else str(path)

    def _open_log(self) -> int:
        """Write verl's config and the log's heading; where this start's part of the log begins."""
        write_whole(self.folder.config, self.plan.verl.text.encode())
        start = self.folder.log_size()
        with self.folder.log.open("a") as log:
            log.write(f"\n==== {utc_now()} {self.plan.verl.shell()}\n")
        return start

    def _make_assets(self, lock: int) -> int:
        """Make the tiny model and data where the run wants them and they are not there; an exit code.

        In a process of its own: torch stays out of this one, which lives as long as the run, and the log gets the rest.
        """
        resolved = self.plan.resolved
        assets = TinyAssets.under(resolved.assets_folder)
        if resolved.assets is None or (assets.model.exists() and assets.train.exists() and assets.val.exists()):
            return 0
        self._say("making the tiny model and its data")
        command = (*PYTHON, "-c", _MAKE_TINY, str(resolved.assets_folder), str(resolved.seed))
        with self._child(command, lock) as child:
            return child.wait()

    def _watch(self, lock: int, start: int) -> int:
        """Run verl and show its steps; its exit code."""
        scratch = Path(tempfile.mkdtemp(prefix="rk-", dir=_SCRATCH)) if starts_ray(self.plan.verl.config) else None
        reader = Reader(self.folder.live_metrics)
        with self._child(self.plan.verl.argv, lock, scratch) as child, self._progress() as progress:
            code = None
            while code is None:
                code = child.poll(_POLL)
                for step in summary.training_steps(reader.new_steps()):
                    if not progress.has_begun and progress.total is None:
                        progress.total = self._logged_total(start)
                    progress.show(step)
                progress.tick()
        return code

    def _child(self, argv: tuple[str, ...], lock: int, scratch: Path | None = None) -> Child:
        environment = self.plan.verl.environment(scratch)
        return Child(argv, environment=environment, log=self.folder.log, scratch=scratch, keep_open=(lock,))

    def _progress(self) -> Progress:
        return Progress(self.console, self.plan.total_steps)

    def _logged_total(self, start: int) -> int | None:
        """Steps in all as verl counted them: rows that its length filter drops are known to it alone."""
        match = _TOTAL_IN_LOG.search(self._log(start))
        return int(match[1]) if match else None

    def _log(self, start: int) -> str:
        with self.folder.log.open("rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")

    def _close(self, record: RunRecord, state: State) -> list[Step]:
        """Put everything that is left behind in order; the training steps of the whole run."""
        steps = summary.training_steps(fold(self.folder))
        checkpoint = latest(self.folder.checkpoints)
        done = max(steps[-1].number if steps else 0, checkpoint)  # verl saves a step before it logs it
        record = record.closed(state, steps=done, checkpoint=self._checkpoint(checkpoint))
        record.write(self.folder.record)
        if steps:
            summary.draw(steps, record.formula, self.folder.curves)
        if state == "stopped":
            self._say(f"stopped after step {done}; {self._next_start(checkpoint)}")
        return steps

    def _next_start(self, checkpoint: int) -> str:
        return f"the same command goes on from step {checkpoint}" if checkpoint else "no checkpoint was saved yet"

    def _death(self, code: int, start: int, next_start: str) -> RunError:
        log = self._log(start)
        cause = "\n  ".join(explain(log))
        hint = hint_for(log) or (_KILLED if code == _SIGKILL else None)
        return RunError(
            f"the run died (exit code {code}). From its log:\n\n  {cause}\n\n  the whole log: {self.folder.log}",
            hint=f"{hint}. Then {next_start}" if hint else next_start,
        )

    def _full(self, why: str, error: OSError) -> RunError:
        """What is left where no more could be written, with what was only half written removed."""
        checkpoints = self.folder.checkpoints
        try:
            mended = mend(checkpoints)
        except (OSError, CheckpointError) as e:
            mended = Mended(latest(checkpoints), (str(e),))
        where = error.filename or self.folder.path
        left = f"the newest complete checkpoint is {step_folder(checkpoints, mended.step)}" if mended.step else None
        facts = [
            f for f in (*mended.notes, left or "there is no complete checkpoint") if "newest" not in f or f == left
        ]
        return RunError(
            f"{why} ({error.strerror}: {where}), so the run was stopped. " + "; ".join(facts),
            hint="free some room, or keep fewer checkpoints: trainer.max_actor_ckpt_to_keep=1 (and max_critic_). "
            f"Then {self._next_start(mended.step)}",
        )

    def _say_result(self, steps: list[Step]) -> None:
        checkpoint = latest(self.folder.checkpoints)
        if steps:
            self.console.print(summary.table(steps))
        if checkpoint:
            self._say(f"checkpoint  {_short(step_folder(self.folder.checkpoints, checkpoint))}")
        else:
            self._say("no checkpoint: trainer.save_freq is not positive")
        if steps:
            self._say(f"curve       {_short(self.folder.curves)}")
        self._say(f"record      {_short(self.folder.record)}")
        if self.exports and checkpoint:
            self._export(checkpoint)

    def _export(self, step: int) -> None:
        report = export(self.plan, step)
        self._say(f"model       {_short(export_folder(self.folder, step))}")
        if report is not None:
            for warning in report.warnings:
                self._say(f"warning: {warning}", style="yellow")


def _short(path: Path) -> Path:
    """Relative to the working folder where it lies below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


@contextmanager
def _signals_raise() -> Iterator[None]:
    """SIGTERM and SIGHUP end the command as an exception, so that verl is stopped and the record closed."""

    def on_signal(number: int, _: object) -> None:
        raise Terminated(number)

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    before = {n: signal.signal(n, on_signal) for n in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
