"""From a trainer's sharded checkpoint to a Hugging Face folder, in the memory of a few blocks.

Needs torch, and nothing else unless the result is verified (transformers, safetensors) or a base model is named by its
hub name (huggingface_hub). No process group, no GPU, no code from the checkpoint.
"""

from .convert import convert
from .report import Report
from .verify import Verification

__all__ = ["Report", "Verification", "convert"]
