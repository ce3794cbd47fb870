r"""Chat templates by name, for base models that carry none. Instruct models bring their own, which is left alone.

`llama-3` renders byte for byte what Meta's official Llama-3 template renders: the begin-of-text token before the first
message, content with its outer blanks trimmed, `<|eot_id|>` after every message.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rewardkit.errors import ConfigError, did_you_mean

_LLAMA_3: Final = r"""
{%- for message in messages -%}
    {%- if loop.first -%}{{ bos_token }}{%- endif -%}
    {{ '<|start_header_id|>' ~ message['role'] ~ '<|end_header_id|>\n\n' ~ message['content'] | trim ~ '<|eot_id|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif -%}
""".strip()

_CHATML: Final = r"""
{%- for message in messages -%}
    {{ '<|im_start|>' ~ message['role'] ~ '\n' ~ message['content'] ~ '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ '<|im_start|>assistant\n' }}
{%- endif -%}
""".strip()

CHAT_TEMPLATES: Final[Mapping[str, str]] = MappingProxyType({"llama-3": _LLAMA_3, "chatml": _CHATML})
"""Jinja text by name. `chatml` is the form of Qwen and SmolLM2, without their default system message."""


def chat_template(name: str) -> str:
    """The Jinja text of a template.

    Raises:
        ConfigError: no template of that name.
    """
    try:
        return CHAT_TEMPLATES[name]
    except KeyError:
        hint = did_you_mean(name, CHAT_TEMPLATES) or f"one of {', '.join(CHAT_TEMPLATES)}"
        raise ConfigError(f"no chat template is named {name!r}", hint=hint) from None
