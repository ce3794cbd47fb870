"""Packages that must be there, fit together, and know the model. Their files are read: imports take seconds."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rewardkit.diagnostics import Severity
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import MODEL, ROLLOUT, Subject

_ENGINES: Final = ("vllm", "sglang")
_PINNED: Final = ("torch", "transformers", "vllm", "sglang", "flash-attn")
_FLASH_ATTN: Final = "pip install 'rewardkit-rl[flash-attn]'"
_REQUIREMENT: Final = re.compile(
    r"^(?P<name>[A-Za-z0-9_.\-]+)==(?P<version>[0-9][^;, ]*);\s*extra == ['\"](?P<extra>[\w\-]+)"
)


def check_versions(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """What is missing or does not fit."""
    yield from _model_type(subject)
    yield from _torch(subject)
    yield from _trl(subject)
    yield from _engine(subject)
    if not subject.on_gpus:
        return
    yield from _pins(subject)
    yield from _architecture(subject)
    yield from _attention(subject)


def _torch(subject: Subject) -> Iterator[ConfigDiagnostic]:
    version = subject.machine.version("torch")
    if subject.machine.gpus and version is not None and version.endswith("+cpu"):
        message = f"torch {version} is a build for the CPU, and this machine has {subject.machine.gpus[0].name}"
        yield subject.diagnostic("RKD107", "", message, "install torch for CUDA: pytorch.org")


def _trl(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """verl imports a class of any trl that is installed, in every worker (models/transformers/monkey_patch.py:354)."""
    folder, version = subject.machine.folder("trl"), subject.machine.version("trl")
    if folder is None or version is None or (folder / "experimental" / "ppo").is_dir():
        return
    if "AutoModelForCausalLMWithValueHead" in (folder / "__init__.py").read_text(encoding="utf-8"):  # before 0.26
        return
    message = f"trl {version} is installed, and lacks AutoModelForCausalLMWithValueHead, which verl's workers import"
    yield subject.diagnostic("RKD111", "", message, "pip uninstall trl, or pip install 'trl<1.13'")


def _engine(subject: Subject) -> Iterator[ConfigDiagnostic]:
    name = subject.get(f"{ROLLOUT}.name")
    if name not in _ENGINES or subject.machine.version(name) is not None:
        return
    pinned = released_with(str(name)).get(str(name))
    fix = f"pip install {name}=={pinned}" if pinned else f"pip install {name}"
    if not subject.on_gpus:
        fix = f"{ROLLOUT}.name=hf_cpu, which needs no engine" + (
            "; docs/vllm-cpu.md says how vLLM runs without a GPU" if name == "vllm" else ""
        )
    elif name == "vllm":
        fix = "pip install 'rewardkit-rl[gpu]'"
    yield subject.diagnostic("RKD101", f"{ROLLOUT}.name", f"is {name}, which is not installed", fix)


def _pins(subject: Subject) -> Iterator[ConfigDiagnostic]:
    name = subject.get(f"{ROLLOUT}.name")
    if name not in _ENGINES or subject.machine.version(name) is None:
        return
    pins = {**released_with(str(name)), **released_with("flash-attn")}
    for package in _PINNED:
        installed = subject.machine.version(package)
        pinned = pins.get(package)
        if pinned is not None and installed is not None and installed.partition("+")[0] != pinned:
            verl = subject.machine.version("verl")
            message = f"{package} {installed} is installed; verl {verl} with {name} was released with {pinned}"
            yield subject.diagnostic("RKD102", "", message, f"pip install {package}=={pinned}")


def released_with(extra: str) -> dict[str, str]:
    """The exact versions that the installed verl's metadata asks for in an extra, by package.

    Args:
        extra: how the extra's name begins: flash-attn's has the versions of CUDA and torch in it.
    """
    try:
        requirements = importlib.metadata.requires("verl") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    found_ = (_REQUIREMENT.match(r) for r in requirements)
    return {m["name"].lower(): m["version"] for m in found_ if m and m["extra"].startswith(extra)}


def _model_type(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """A type that transformers doesn't know fails after the workers have started: "unknown model type"."""
    folder = subject.machine.folder("transformers")
    if subject.model is None or folder is None or "auto_map" in subject.model:
        return
    name = subject.model.get("model_type")
    known = model_types(folder)
    if not known or name in known:
        return
    version = subject.machine.version("transformers")
    message = f"its config.json says model_type {name!r}, which transformers {version} does not know"
    fix = "install a newer transformers, or use a model of a known type"
    yield subject.diagnostic("RKD103", f"{MODEL}.path", message, fix)


def model_types(transformers: Path) -> frozenset[str]:
    """The model types that transformers maps to a config class; empty when its files look otherwise."""
    auto = transformers / "models" / "auto"
    text = "".join(p.read_text(encoding="utf-8") for p in sorted(auto.glob("*mapping*.py")))
    text += (auto / "configuration_auto.py").read_text(encoding="utf-8") if auto.is_dir() else ""
    return frozenset(re.findall(r"""["']([\w.\-]+)["']\s*[,:]\s*["']\w+Config["']""", text))


def _architecture(subject: Subject) -> Iterator[ConfigDiagnostic]:
    shape, folder = subject.shape, subject.machine.folder("vllm")
    if shape is None or not shape.architecture or folder is None or subject.get(f"{ROLLOUT}.name") != "vllm":
        return
    registry = folder / "model_executor" / "models" / "registry.py"
    known = architectures(registry) if registry.is_file() else frozenset()
    if known and shape.architecture not in known:
        version = subject.machine.version("vllm")
        message = f"vLLM {version} has no {shape.architecture} among its {len(known)} architectures"
        fix = "a vLLM that knows it; without, vLLM tries transformers' own code, which is slower and may refuse"
        yield subject.diagnostic("RKD104", f"{MODEL}.path", message, fix)


def architectures(registry: Path) -> frozenset[str]:
    """The class names that vLLM's registry maps to a module."""
    return frozenset(re.findall(r"^\s+\"(\w+)\":\s*\(", registry.read_text(encoding="utf-8"), re.MULTILINE))


def _attention(subject: Subject) -> Iterator[ConfigDiagnostic]:
    key, padding = f"{MODEL}.override_config.attn_implementation", f"{MODEL}.use_remove_padding"
    chosen = subject.get(key) or "flash_attention_2"
    installed = subject.machine.version("flash-attn")
    if str(chosen).startswith("flash_attention") and installed is None:
        default = "" if subject.get(key) else " (verl's default)"
        kernels = subject.machine.version("kernels")
        message = f"is {chosen}{default}, and flash-attn is not installed"
        fix = f"{_FLASH_ATTN}; or {key}=sdpa with {padding}=false, which is slower"
        if kernels is None:
            yield subject.diagnostic("RKD105", key, message, fix)
        else:
            message += f"; transformers will try a kernel from the hub through kernels {kernels}"
            yield subject.diagnostic("RKD105", key, message, fix, Severity.WARNING)
    elif not str(chosen).startswith("flash_attention") and subject.on(padding):
        message = (
            f"is true, and {key} is {chosen}: responses are packed into one row, and this attention works on all pairs "
            "of its tokens, masked; time and memory grow with the square of a micro batch"
        )
        fix = f"{padding}=false, or {_FLASH_ATTN} and flash_attention_2"
        yield subject.diagnostic("RKD106", padding, message, fix)
