"""The commands of the pages that can't run in a test as they stand: why not, and what runs in their place.

Every other command runs as it is written. Most entries give other words to run; the others check what the command
relies on, and run nothing.
"""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import re
import shutil
import threading
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rewardkit.cli import run

ROOT = Path(__file__).parents[2]
Words = Sequence[str]


@dataclass(frozen=True)
class Instead:
    """One kind of command.

    Attributes:
        begins: the words that it begins with.
        why: why it does not run as it stands.
        run: its words to the words of what runs instead; None where what it relies on was checked.
        where: which of those commands it is; all of them by default.
        leaves: puts into the folder what the command itself would have left there.
    """

    begins: str
    why: str
    run: Callable[[Words], Words | None]
    where: Callable[[Words], bool] = lambda words: True
    leaves: Callable[[Words], object] = lambda words: None

    def is_for(self, words: Words) -> bool:
        begins = self.begins.split()
        return list(words[: len(begins)]) == begins and self.where(words)


def _dry(words: Words) -> Words:
    return [*(w for w in words if w != "--dry-run"), "--dry-run"]


def _trained(words: Words) -> None:
    """The checkpoints of a run (material.py), and its rollouts where they are asked for."""
    given = dict(pairwise(words))
    if "--dry-run" not in words and "--out" in given and not Path(given["--out"]).exists():
        shutil.copytree("../trained-lora" if any("-lora" in w for w in words) else "../trained", given["--out"])
    for dumped in (w.partition("=")[2] for w in words if w.startswith("trainer.rollout_data_dir=")):
        shutil.copytree("../rollouts", dumped)


def _test_split(words: Words) -> None:
    run(["data", "gsm8k", "--from", "gsm8k_test.jsonl", "--out", os.path.expanduser(words[words.index("--out") + 1])])


class _Server(http.server.ThreadingHTTPServer):
    """An OpenAI-compatible server with one answer to everything."""

    request_queue_size = 128
    daemon_threads = True


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions" and asked["model"] == "out" and asked["messages"]
        choice = {"message": {"role": "assistant", "content": "#### 42"}, "finish_reason": "stop"}
        reply = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


def _made_up_server(words: Words) -> Words:
    server = _Server(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return [w.replace("localhost:8000", f"127.0.0.1:{server.server_port}") for w in words]


def _target_exists(words: Words) -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert words[1] in targets, f"there is no target {words[1]}"


def _extra_exists(words: Words) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ours = [w for w in words[2:] if w.startswith(project["name"])]
    for extra in re.findall(r"[\w-]+", "".join(re.findall(r"\[(.*?)\]", " ".join(ours)))):
        assert extra in project["optional-dependencies"], f"there is no extra {extra}"


def _from_file(words: Words) -> Words:
    return ["gsm8k_train.jsonl" if w == "openai/gsm8k" else w for w in words]


def _model_is_whole(words: Words) -> None:
    folder = Path(words[2])
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    for needed in ("model.safetensors", "generation_config.json", "tokenizer.json", "tokenizer_config.json"):
        assert (folder / needed).is_file(), f"{folder} lacks {needed}, which vLLM reads"


def _installed(package: str) -> Callable[[Words], None]:
    def check(words: Words) -> None:
        assert importlib.util.find_spec(package), f"{package} is not installed"

    return check


def _vllm_s_environment(words: Words) -> Words:
    from trainer_glue.verl.cpu.vllm import overrides

    assert words[3] == "$(.venv-vllm/bin/python" and words[-1] == "trainer_glue.verl.cpu.vllm)"
    return ["rewardkit", "train", "tiny", *(f"++{k}={v}" for k, v in overrides().items()), "--dry-run"]


INSTEAD = [
    Instead("make", "installs packages, or takes minutes: the target is there", _target_exists),
    Instead("pip install", "downloads packages: the extras are there", _extra_exists),
    Instead("rewardkit train", "trains for minutes or on GPUs: all up to the start of verl", _dry, leaves=_trained),
    Instead(
        "rewardkit data gsm8k",
        "downloads: the same from files",
        _from_file,
        lambda words: "openai/gsm8k" in words,
        leaves=_test_split,
    ),
    Instead(
        "rewardkit test",
        "a hundred batches for each law take half a minute: ten",
        lambda words: [*words, "--examples", "10"],
        lambda words: "--mutants" not in words,
    ),
    Instead(
        "pytest",
        "a hundred batches for each law take half a minute: one law",
        lambda words: [*words, "-k", "dominates"],
    ),
    Instead(
        "rewardkit score",
        "starts Ray, or joins a cluster: the same scores without it",
        lambda words: [w for w in words if w not in ("--engine", "ray")],
        lambda words: "ray" in words,
    ),
    Instead(
        "rewardkit audit",
        "searches five seconds where the attacks find no hole: half a second",
        lambda words: [*words, "--budget", "0.5"],
    ),
    Instead(
        "rewardkit config validate llama3.yaml",
        "verl's own checks take ten seconds, and configuration.md runs them",
        lambda words: [*words, "--no-verl"],
    ),
    Instead(
        "rewardkit config validate mine.yaml",
        "the recipe's data is not in this folder: what llama3.md makes of it is",
        lambda words: [*words, "data.train_files=data/train.parquet", "data.val_files=data/train.parquet"],
    ),
    Instead("python -m pytest", "needs the operation of the page: test_adding.py follows the page", lambda words: None),
    Instead("python docs/make_terms.py", "needs the operation of the page: as above", lambda words: None),
    Instead("vllm serve", "needs vLLM and a GPU: the folder holds what it reads", _model_is_whole),
    Instead(
        "python ask.py http://localhost:8000/v1",
        "asks a server that needs a GPU: asks a made-up one",
        _made_up_server,
    ),
    Instead("ray start", "starts daemons of a cluster: Ray is there", _installed("ray")),
    Instead(
        ".venv-vllm/bin/rewardkit train tiny",
        "needs an environment of its own: its keys, in this one, up to the start of verl",
        _vllm_s_environment,
    ),
]


def instead(words: Words) -> Instead | None:
    """The entry for a command; None for one that runs as it stands."""
    return next((entry for entry in INSTEAD if entry.is_for(words)), None)
