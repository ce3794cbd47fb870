"""The files beside the weights: config, generation config, tokenizer, chat template, custom code.

They travel as they are, with three exceptions that would make the result mean something else: the config's dtype is
that of the written tensors, its attention implementation is the training machine's affair, and an end-of-sequence id
that the trainer stopped at is never lost (verl writes the tokenizer's one id into the config; the generation config
has the model's full list).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import CheckpointError

from .layout import Layout, is_there, read_json
from .writer import write_text

_CONFIGS: Final = ("config.json", "generation_config.json")
_TOKENIZER: Final = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "*.tiktoken",
    "chat_template.json",
    "chat_template.jinja",
)
_OTHER: Final = ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json", "*.py")
_TEMPLATES: Final = "additional_chat_templates"


def resolve_base(base: str, *, weights: bool = False) -> Path:
    """A base model's folder: a local one, or the hub's files for that name.

    Raises:
        CheckpointError: It is neither.
    """
    local = Path(base)
    if local.is_dir():
        return local
    try:
        from huggingface_hub import snapshot_download

        patterns = [*_CONFIGS, *_TOKENIZER, *_OTHER, f"{_TEMPLATES}/*"]
        folder = snapshot_download(base, allow_patterns=[*patterns, *(["*.safetensors*"] if weights else [])])
    except Exception as error:
        raise CheckpointError(
            f"base model {base!r} is not a folder, and the hub did not give it: {error}",
            hint="point --base at a local folder with config.json and the tokenizer",
        ) from error
    return Path(folder)


def collect(layout: Layout, base: Path | None) -> dict[str, Path]:
    """Source file of each name that travels; the base model fills in whole kinds that the checkpoint lacks.

    Raises:
        CheckpointError: There is no ``config.json`` anywhere.
    """
    files: dict[str, Path] = {}
    for kind in (("config.json",), ("generation_config.json",), _TOKENIZER, _OTHER):
        for folder in (layout.config_folder, base):
            if folder is None:
                continue
            matches = {
                path.name: path
                for path in sorted(folder.iterdir())
                if any(fnmatchcase(path.name, pattern) for pattern in kind) and is_there(path)
            }
            if kind is _TOKENIZER:
                templates = folder / _TEMPLATES
                matches |= {
                    f"{_TEMPLATES}/{path.name}": path for path in sorted(templates.glob("*.jinja")) if is_there(path)
                }
            if matches:
                files |= matches
                break  # one source for one kind: half of one tokenizer and half of another is none
    if "config.json" not in files:
        raise CheckpointError(
            f"no config.json in {layout.folder / 'huggingface'} or {layout.folder}",
            hint="name the model that was trained with --base: a local folder or a hub name",
        )
    return files


def model_config(
    source: Mapping[str, Any], *, dtype: str, tied: bool | None = None, value_head_rows: int | None = None
) -> dict[str, Any]:
    """The config to write.

    Args:
        source: The checkpoint's config.
        dtype: Of the written tensors, in torch's spelling without the module.
        tied: Overrides ``tie_word_embeddings`` where the weights say otherwise.
        value_head_rows: Rows of a value head: the architecture becomes the family's token classifier.
    """
    config = {key: value for key, value in source.items() if key not in _MACHINE}
    config["torch_dtype" if "torch_dtype" in source else "dtype"] = dtype
    for key in ("text_config", "vision_config"):
        if isinstance(config.get(key), dict):
            nested = {k: v for k, v in config[key].items() if k not in _MACHINE}
            for name in ("dtype", "torch_dtype"):
                if name in nested:
                    nested[name] = dtype
            config[key] = nested
    if tied is not None:
        config["tie_word_embeddings"] = tied
    if value_head_rows is not None:
        config["architectures"] = [_classifier(name) for name in config.get("architectures") or []]
        config["id2label"] = {str(i): f"LABEL_{i}" for i in range(value_head_rows)}
        config["label2id"] = {f"LABEL_{i}": i for i in range(value_head_rows)}
        config.pop("num_labels", None)
    return config


_MACHINE: Final = ("attn_implementation", "_attn_implementation", "_attn_implementation_autoset", "_name_or_path")


def _classifier(architecture: str) -> str:
    for suffix in ("ForCausalLM", "ForConditionalGeneration"):
        if architecture.endswith(suffix):
            return architecture.removesuffix(suffix) + "ForTokenClassification"
    return architecture


def generation_config(config: Mapping[str, Any], source: Mapping[str, Any] | None) -> dict[str, Any]:
    """The generation config to write: the checkpoint's own, with every end-of-sequence id that the config knows."""
    ids = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id") if config.get(key) is not None}
    written = {**ids, **(source or {})}
    eos_ids: list[int] = []
    for value in (None if source is None else source.get("eos_token_id"), config.get("eos_token_id")):
        eos_ids += [i for i in (value if isinstance(value, list) else [value]) if i is not None and i not in eos_ids]
    if eos_ids:
        written["eos_token_id"] = eos_ids[0] if len(eos_ids) == 1 else eos_ids
    return written


def write(folder: Path, files: Mapping[str, Path], config: Mapping[str, Any], *, generates: bool) -> list[int]:
    """Write all of it, and say at which ids generation stops."""
    for name, path in files.items():
        if name not in _CONFIGS:
            target = folder / name
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, target)
    write_text(folder / "config.json", json.dumps(config, indent=2) + "\n")
    if not generates:
        return []
    own = files.get("generation_config.json")
    generation = generation_config(config, read_json(own) if own else None)
    write_text(folder / "generation_config.json", json.dumps(generation, indent=2) + "\n")
    eos_ids = generation.get("eos_token_id")
    return list(eos_ids) if isinstance(eos_ids, list) else [] if eos_ids is None else [eos_ids]
