"""A conversion that can't be right ends in a clear error and leaves nothing behind."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from rewardkit.errors import CheckpointError
from trainer_glue.checkpoint import convert, staging

from .conftest import Made

ROOT = Path(__file__).parents[3]
CASE = "fsdp2:untied:fp32:2"
Make = Callable[[str], Made]


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    """A target in a folder of its own, which must be empty afterwards."""
    home = tmp_path / "results"
    home.mkdir()
    yield home / "model"
    assert list(home.iterdir()) == []


def test_missing_rank(copy: Make, out: Path) -> None:
    made = copy(CASE)
    made.rank(1).unlink()
    with pytest.raises(CheckpointError, match=r"no file of rank 1, and no other rank holds"):
        convert(made.run, out)


def test_rank_whose_copies_are_elsewhere_may_be_missing(copy: Make, tmp_path: Path) -> None:
    made = copy("hsdp1:untied:fp32:4")
    whole = convert(made.run, tmp_path / "whole", verify_result=True)
    made.rank(3).unlink()
    part = convert(made.run, tmp_path / "part", verify_result=True)
    assert part.warnings == ["no file of rank 3; other ranks hold copies of their parts"]
    assert whole.verification is not None
    assert part.verification is not None
    assert part.verification.checksums == whole.verification.checksums


@pytest.mark.parametrize("keep", [0, 100, 0.5, -1])
def test_truncated_rank(keep: float, copy: Make, out: Path) -> None:
    made = copy(CASE)
    size = made.rank(1).stat().st_size
    os.truncate(made.rank(1), int(size * keep) if isinstance(keep, float) else keep % size)
    with pytest.raises(CheckpointError, match=r"rank_1\.pt .*not a complete torch file"):
        convert(made.run, out)


def test_a_hole_in_the_pickle(copy: Make, out: Path) -> None:
    made = copy(CASE)
    data = bytearray(made.rank(1).read_bytes())
    at = data.index(b"OrderedDict")
    data[at : at + 200] = b"\0" * 200
    made.rank(1).write_bytes(data)
    with pytest.raises(CheckpointError, match=r"rank_1\.pt can't be read"):
        convert(made.run, out)


class Hostile:
    """Runs a command when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return (os.system, (f"touch {self.marker}",))


def test_hostile_pickle_runs_nothing(copy: Make, out: Path, tmp_path: Path) -> None:
    made = copy(CASE)
    marker = tmp_path / "was-run"
    torch.save({"model.norm.weight": Hostile(marker)}, made.rank(0))
    with pytest.raises(CheckpointError, match=r"names posix\.system, which no state dict needs; nothing was run") as e:
        convert(made.run, out)
    assert "weights_only=False" not in str(e.value)
    assert not marker.exists()


def test_hostile_pickle_without_an_archive(copy: Make, out: Path, tmp_path: Path) -> None:
    made = copy(CASE)
    marker = tmp_path / "was-run"
    made.rank(0).write_bytes(pickle.dumps(Hostile(marker)))
    with pytest.raises(CheckpointError, match="not a complete torch file"):
        convert(made.run, out)
    assert not marker.exists()


def test_classes_that_another_import_allowed_stay_forbidden(copy: Make, out: Path) -> None:
    made = copy(CASE)
    torch.save({"model.norm.weight": Path("x")}, made.rank(0))
    with torch.serialization.safe_globals([type(Path("x"))]):
        before = torch.serialization.get_safe_globals()
        with pytest.raises(CheckpointError, match=r"names pathlib"):
            convert(made.run, out)
        assert set(torch.serialization.get_safe_globals()) == set(before)


def test_ranks_that_disagree_on_names(copy: Make, out: Path) -> None:
    made = copy(CASE)
    state = torch.load(made.rank(1), weights_only=False)
    del state["model.norm.weight"]
    torch.save(state, made.rank(1))
    with pytest.raises(CheckpointError, match=r"rank 0 has model\.norm\.weight and rank 1 does not"):
        convert(made.run, out)


def test_ranks_that_disagree_on_what_a_tensor_is(copy: Make, out: Path) -> None:
    made = copy(CASE)
    state = torch.load(made.rank(1), weights_only=False)
    state["model.norm.weight"] = torch.zeros(36)
    torch.save(state, made.rank(1))
    with pytest.raises(CheckpointError, match=r"rank 0 has \(36,\) torch\.float32 \(Shard\(0\)\), rank 1 .* whole"):
        convert(made.run, out)


@pytest.mark.parametrize("case", ["fsdp2:tied:bf16:3", "fsdp1:lora:bf16:3"])
def test_files_of_two_ranks_that_changed_places(case: str, copy: Make, out: Path) -> None:
    made = copy(case)
    first, second = made.rank(0), made.rank(1)  # of equal shapes: nothing but the mesh tells them apart
    first.rename(first.with_suffix(".moved"))
    second.rename(first)
    first.with_suffix(".moved").rename(second)
    with pytest.raises(CheckpointError, match=r"rank_0\.pt was saved by rank 1, and its name says rank 0"):
        convert(made.run, out)


def test_shard_of_another_size_than_its_placement_says(copy: Make, out: Path) -> None:
    made = copy(CASE)
    state = torch.load(made.rank(1), weights_only=False)
    weight = state["model.norm.weight"]
    weight._local_tensor = weight._local_tensor[:5].clone()
    torch.save(state, made.rank(1))
    with pytest.raises(CheckpointError, match=r"rank 1 holds \(5,\); placement \(Shard\(0\)\) of \(36,\) says \(18,\)"):
        convert(made.run, out)


NOT_DENSE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sparse_coo": lambda t: t.to_sparse(),
    "sparse_csr": lambda t: t.to_sparse_csr(),
    "no data": lambda t: t.to("meta"),
}


@pytest.mark.parametrize("what", NOT_DENSE)
def test_a_tensor_that_is_not_dense(what: str, copy: Make, out: Path) -> None:
    made = copy(CASE)
    for rank in (0, 1):
        state = torch.load(made.rank(rank), weights_only=False)
        state["extra"] = NOT_DENSE[what](torch.eye(4))
        torch.save(state, made.rank(rank))
    with pytest.raises(CheckpointError, match=rf"extra is .*{what}; expected a dense tensor"):
        convert(made.run, out)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("__metadata__", "'__metadata__', which a safetensors file can't hold"),
        ("a\ud800", "which a safetensors file can't hold"),
        ("pretrained_model.model.norm.weight", r"two tensors of the checkpoint are model\.norm\.weight"),
        ("model.norm.base_layer.weight", r"two tensors of the checkpoint are model\.norm\.weight"),
    ],
)
def test_a_name_that_would_be_lost(name: str, message: str, copy: Make, out: Path) -> None:
    made = copy(CASE)
    for rank in (0, 1):
        state = torch.load(made.rank(rank), weights_only=False)
        state[name] = torch.ones(36)
        torch.save(state, made.rank(rank))
    with pytest.raises(CheckpointError, match=message):
        convert(made.run, out)


LINKED = ["RANK", "fsdp_config.json", "lora_train_meta.json"]
LINKED += [f"huggingface/{name}" for name in ("config.json", "generation_config.json", "tokenizer.json")]
LINKED += ["huggingface/additional_chat_templates/tools.jinja"]


@pytest.mark.parametrize("name", LINKED)
def test_a_link_to_nothing_is_no_absent_file(name: str, copy: Make, out: Path) -> None:
    made = copy(CASE)
    path = made.rank(1) if name == "RANK" else made.actor / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("gone")
    with pytest.raises(CheckpointError, match="is a link to gone, and nothing is there"):
        convert(made.run, out)


def test_links_that_lead_somewhere_are_followed(copy: Make, tmp_path: Path) -> None:
    made = copy(CASE)
    store = tmp_path / "store"
    store.mkdir()
    for path in (made.rank(0), made.rank(1), made.actor / "huggingface" / "config.json"):
        path.rename(store / path.name)
        path.symlink_to(store / path.name)
    assert convert(made.run, tmp_path / "out", verify_result=True).verification is not None


@pytest.mark.parametrize("text", ["[" * 100_000, "\xff", '{"architectures": 3, "model_type": "llama"}'])
def test_a_config_that_is_none(text: str, copy: Make, out: Path) -> None:
    made = copy(CASE)
    (made.actor / "huggingface" / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(CheckpointError, match="config"):
        convert(made.run, out, verify_result=True)


def test_buffers_that_differ_between_ranks(copy: Make, out: Path) -> None:
    made = copy("fsdp2:tied:bf16:3")
    state = torch.load(made.rank(2), weights_only=False)
    state["steps_seen"] += 1
    torch.save(state, made.rank(2))
    with pytest.raises(CheckpointError, match="steps_seen differs between rank 0 and rank 2"):
        convert(made.run, out)


def test_replicas_that_differ_are_found_by_verify(copy: Make, out: Path) -> None:
    made = copy("hsdp1:untied:fp32:4")
    state = torch.load(made.rank(3), weights_only=False)
    state["model.norm.weight"]._local_tensor[2] += 1
    torch.save(state, made.rank(3))
    with pytest.raises(CheckpointError, match=r"model\.norm\.weight differs between rank 1 and rank 3"):
        convert(made.run, out, verify_result=True)


def test_nan_is_reported_and_fails_verify(copy: Make, out: Path, tmp_path: Path) -> None:
    made = copy(CASE)
    state = torch.load(made.rank(1), weights_only=False)
    state["model.norm.weight"]._local_tensor[:3] = torch.tensor([float("nan"), float("inf"), float("nan")])
    torch.save(state, made.rank(1))
    report = convert(made.run, tmp_path / "as-it-is")
    assert report.non_finite == {"model.norm.weight": {"nan": 2, "inf": 1}}
    assert report.warnings == ["NaN or infinite values in model.norm.weight"]
    with pytest.raises(CheckpointError, match=r"1 tensors hold NaN or infinite values: model\.norm\.weight"):
        convert(made.run, out, verify_result=True)


def test_range_of_fp16(copy: Make, tmp_path: Path) -> None:
    made = copy(CASE)
    state = torch.load(made.rank(0), weights_only=False)
    state["model.norm.weight"]._local_tensor[0] = 1e6
    torch.save(state, made.rank(0))
    assert convert(made.run, tmp_path / "bf16", dtype="bf16").non_finite == {}
    report = convert(made.run, tmp_path / "fp16", dtype="fp16")
    assert report.non_finite == {"model.norm.weight": {"nan": 0, "inf": 1}}
    assert "bf16 may hold them" in report.warnings[0]


def test_target_that_is_taken(made: Make, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("kept")
    with pytest.raises(CheckpointError, match="is there already"):
        convert(made(CASE).run, tmp_path / "model")
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "mine.txt"]


def test_no_room_is_known_before_anything_is_written(made: Make, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(out.parent)
    monkeypatch.setattr(staging.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(CheckpointError, match=r"needs 0\.07 GB and its disk has 0\.00 GB left"):
        convert(made(CASE).run, out)


def test_file_size_limit(made: Make, out: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(CheckpointError, match="file size limit"):
            convert(made(CASE).run, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 80 MB."""
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", str(mount)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_disk_that_fills_up_on_the_way(made: Make, small_disk: Path) -> None:
    def fill(done: int, total: int) -> None:
        """Another program takes the room while the conversion runs."""
        if not (small_disk / "other").exists():
            (small_disk / "other").write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 8192))

    with pytest.raises(CheckpointError, match=r"the disk is full .*Nothing was left behind"):
        convert(made(CASE).run, small_disk / "model", progress=fill)
    assert [path.name for path in small_disk.iterdir()] == ["other"]


def test_kill_leaves_no_result_and_the_next_run_clears_up(made: Make, tmp_path: Path) -> None:
    home = tmp_path / "results"
    home.mkdir()
    code = (
        "import sys, time; from trainer_glue.checkpoint import convert\n"
        "def wait(done, total): print('writing', flush=True); time.sleep(60)\n"
        "convert(sys.argv[1], sys.argv[2], progress=wait)"
    )
    command = [sys.executable, "-c", code, str(made(CASE).run), str(home / "model")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    # Its folder is locked while it lives: another conversion to the same place leaves it alone.
    (partial,) = home.iterdir()
    convert(made(CASE).run, home / "model")
    assert {path.name for path in home.iterdir()} == {partial.name, "model"}
    shutil.rmtree(home / "model")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [path.name for path in home.iterdir()] == [partial.name]
    deadline = time.monotonic() + 10
    while partial.exists() and time.monotonic() < deadline:
        convert(made(CASE).run, home / "model")
        shutil.rmtree(home / "model") if partial.exists() else None
    assert [path.name for path in home.iterdir()] == ["model"]


def test_interrupt_clears_up(made: Make, out: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(made(CASE).run, out, progress=interrupt)
