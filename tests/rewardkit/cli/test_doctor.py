"""`rewardkit doctor`: all diagnostics at once, as text and as JSON, and the same before `train`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.models import LLAMA_3_8B

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def llama(tmp_path: Path) -> str:
    """The sizes of Llama-3-8B, with a file of no weights."""
    folder = tmp_path / "llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA_3_8B))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    return str(folder)


def by_code(text: str) -> dict[str, dict[str, Any]]:
    return {f["code"]: f for f in json.loads(text)["diagnostics"]}


def test_the_default_recipe_is_well(rewardkit: Run) -> None:
    done = rewardkit("doctor")
    assert (done.returncode, done.stdout) == (0, "tiny: 0 errors, 0 warnings\n"), done.stderr


def test_faults_of_a_recipe_for_gpus_are_found_in_one_pass_without_any(rewardkit: Run, llama: str) -> None:
    done = rewardkit(
        "doctor",
        "llama3-8b-gsm8k",
        f"model.path={llama}",
        "rollout.temperature=0",
        "rollout.top_p=0.9",
        "rollout.gpu_memory_utilization=0.95",
        "rollout.tensor_model_parallel_size=3",
        "trainer.logger=[consol]",
        "trainer.sve_freq=5",
        "--json",
        VLLM_ATTENTION_BACKEND="XFORMERS",
        VERL_PLATFORM="cpu",
    )
    assert done.returncode == 2
    seen = by_code(done.stdout)
    errors = {"RKD401", "RKD301", "RKD203", "RKD108", "unknown-key", "parallel-size"}
    assert errors <= {code for code, f in seen.items() if f["severity"] == "error"}
    assert {"RKD403", "RKD801", "missing-file", "no-accelerator"} <= set(seen)
    assert seen["missing-file"]["severity"] == "error", "only --gpu-memory says that the run is elsewhere"
    assert seen["RKD203"]["hint"] == "one of 1, 2, 4, 8"
    assert seen["RKD401"]["where"] == "command line: rollout.temperature=0"
    assert seen["unknown-key"]["hint"] == "did you mean trainer.save_freq?"
    memory = json.loads(done.stdout)["memory"]
    assert set(memory["phases"]) == {"rollout", "log-prob", "update", "sync"}
    rollout = memory["phases"]["rollout"]
    assert rollout["total"] == sum(rollout["parts"].values()) > memory["usable"]


def test_the_estimate_goes_by_the_gpu_that_is_named(rewardkit: Run, llama: str) -> None:
    arguments = ("doctor", "llama3-8b-gsm8k", f"model.path={llama}", "--gpu-memory")
    small, large = (rewardkit(*arguments, size, VERL_PLATFORM="cpu") for size in ("24", "141"))
    assert small.returncode == 2 and "RKD301" in small.stdout
    assert large.returncode == 0 and "140.2 GiB (as given)" in large.stdout
    assert "rollout   " in large.stdout and "KV cache  " in large.stdout


def test_scores_show_dead_groups(rewardkit: Run, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    rows = [{"response": "#### 5", "ground_truth": "4", "group": i // 4} for i in range(16)]
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / "scores.jsonl"
    assert rewardkit("score", "gsm8k()", str(answers), "--out", str(path)).returncode == 0
    done = rewardkit("doctor", "tiny", "--scores", str(path), "--json")
    assert done.returncode == 0
    assert "4 of 4 groups (100%)" in by_code(done.stdout)["RKD703"]["message"]
    missing = rewardkit("doctor", "tiny", "--scores", str(tmp_path / "none"))
    assert missing.returncode == 2 and "no file " in missing.stderr


def test_nothing_heavy_is_imported(llama: str) -> None:
    script = (
        "import sys; from trainer_glue.verl.preflight.report import diagnose\n"
        f"report = diagnose('llama3-8b-gsm8k', ['model.path={llama}'], reward='gsm8k()', gpu=80)\n"
        "assert len(report.memory) == 6, report.memory\n"
        "print(sorted({'torch', 'transformers', 'ray', 'verl', 'vllm', 'huggingface_hub'} & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_file_that_can_not_be_read_is_a_finding(rewardkit: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("trainer: [")
    done = rewardkit("doctor", str(path), "--json")
    assert done.returncode == 2
    assert by_code(done.stdout)["yaml-syntax"]["severity"] == "error"


def test_train_stops_at_an_error_and_tells_warnings(rewardkit: Run, tmp_path: Path) -> None:
    done = rewardkit("train", "tiny", "rollout.temperature=0")
    assert done.returncode == 2
    assert "the 8 responses to a prompt are all the same" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == []
    dry = rewardkit("train", "tiny", "rollout.top_p=0.9", "--dry-run")
    assert dry.returncode == 0
    (line,) = [line for line in dry.stdout.splitlines() if "RKD403" in line]
    assert line.startswith("# warning: RKD403 actor_rollout_ref.rollout.top_p: is 0.9")
