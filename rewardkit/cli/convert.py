"""`rewardkit convert`: a checkpoint's shards to a Hugging Face folder."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardkit.cli import PLAIN
from rewardkit.cli._console import echo
from rewardkit.errors import MissingDependencyError, ParameterError

app = typer.Typer(**PLAIN)


@app.command(no_args_is_help=True)
def convert(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CKPT", help="A run, one of its steps, or an actor folder.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty folder.", show_default=False)],
    step: str = typer.Option("latest", metavar="N|latest", help="Which step of a run."),
    base: str = typer.Option(
        None,
        metavar="MODEL",
        show_default=False,
        help="The model that was trained, a folder or hub name: for what the checkpoint lacks.",
    ),
    dtype: str = typer.Option("keep", metavar="keep|bf16|fp16|fp32", help="Of floating-point tensors."),
    max_shard_size: str = typer.Option("5GB", metavar="SIZE", help="Largest output file."),
    merge_lora: bool = typer.Option(False, "--merge-lora", help="Work a LoRA adapter into the weights."),
    lora_alpha: float = typer.Option(
        None, metavar="ALPHA", show_default=False, help="LoRA's alpha, where the checkpoint does not say."
    ),
    critic: bool = typer.Option(False, "--critic", help="Convert the value model."),
    verify: bool = typer.Option(False, "--verify", help="Prove names, shapes, dtypes and bytes, and run the result."),
    as_json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
) -> None:
    """Convert a verl FSDP checkpoint to a Hugging Face folder, whatever its size, in a few blocks of memory."""
    if step != "latest" and not step.isdecimal():
        raise ParameterError(f"--step {step!r}; expected a number or 'latest'")
    checkpoints = _checkpoints()
    with _progress_bar() as progress:
        report = checkpoints.convert(
            checkpoint,
            out,
            step="latest" if step == "latest" else int(step),
            base=base,
            dtype=dtype,
            max_shard_size=max_shard_size,
            merge_lora=merge_lora,
            lora_alpha=lora_alpha,
            critic=critic,
            verify_result=verify,
            progress=progress,
        )
    for warning in report.warnings:
        echo(f"warning: {warning}", err=True)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2))
    else:
        for line in _summary(report):
            echo(line)


def _checkpoints() -> Any:
    try:
        return importlib.import_module("trainer_glue.checkpoint")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingDependencyError(
            "reading a checkpoint needs torch, which is not installed", hint="pip install torch"
        ) from error


def _summary(report: Any) -> Iterator[str]:
    of_step = "" if report.step is None else f" of step {report.step}"
    size = (
        f"{report.bytes_written / 1e9:.2f} GB"
        if report.bytes_written >= 1e8
        else f"{report.bytes_written / 1e6:.2f} MB"
    )
    ranks = f"{report.world_size} rank{'' if report.world_size == 1 else 's'}"
    yield (
        f"{report.out}: {report.parameters:,} parameters{of_step} in {report.tensors} tensors, {report.dtype}, "
        f"{size} from {ranks} ({report.mesh}) in {report.seconds:.1f} s"
    )
    if report.tied:
        yield f"tied and written once: {', '.join(report.tied)}"
    if report.lora is not None:
        how = "merged into the weights" if report.lora["merged"] else "written beside the base model"
        yield f"LoRA (r={report.lora['r']}, alpha={report.lora['lora_alpha']:g}): {how}"
    if report.eos_token_ids:
        yield f"generation stops at {report.eos_token_ids}"
    if report.verification is not None:
        proof = report.verification
        yield (
            f"verified: {len(proof.checksums)} checksums"
            + (f", names and shapes of {proof.model_class}" if proof.model_class else "")
            + (", a forward pass" if proof.forward else "")
        )
        for skipped in proof.skipped:
            yield f"not verified: {skipped}"


@contextmanager
def _progress_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Bytes and time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    from rewardkit.cli._console import console

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(err=True)) as bar:
        task = bar.add_task("convert", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
