"""Chat templates by name, against Meta's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import ConfigError
from trainer_glue.verl.chat_templates import CHAT_TEMPLATES, chat_template

jinja2 = pytest.importorskip("jinja2")

Messages = list[Mapping[str, str]]
messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "user", "assistant"]),
            "content": st.text(alphabet=" \n\tab<|>{}%'\"\\é", max_size=12),
        }
    ),
    max_size=4,
)


def render(template: str, talk: Messages, *, prompt: bool, bos: str = "<|begin_of_text|>") -> str:
    """As transformers renders a template."""
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    text: str = environment.from_string(template).render(messages=talk, add_generation_prompt=prompt, bos_token=bos)
    return text


def test_llama_3_word_for_word() -> None:
    talk = [{"role": "system", "content": "Be brief. "}, {"role": "user", "content": "\n1 + 1?\n"}]
    assert render(chat_template("llama-3"), talk, prompt=True) == (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\n1 + 1?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


@given(messages, st.booleans())
def test_llama_3_is_metas_byte_for_byte(shared_data: Path, talk: Messages, prompt: bool) -> None:
    official = (shared_data / "llama3_tokenizer" / "chat_template.meta.jinja").read_bytes().decode()
    assert render(chat_template("llama-3"), talk, prompt=prompt) == render(official, talk, prompt=prompt)


def test_chatml_word_for_word() -> None:
    talk = [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "2"}]
    assert render(chat_template("chatml"), talk, prompt=True) == (
        "<|im_start|>user\n1 + 1?<|im_end|>\n<|im_start|>assistant\n2<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("name", CHAT_TEMPLATES)
def test_no_generation_prompt_unless_asked(name: str) -> None:
    talk = [{"role": "user", "content": "1 + 1?"}]
    with_prompt = render(chat_template(name), talk, prompt=True)
    assert with_prompt.startswith(render(chat_template(name), talk, prompt=False))
    assert with_prompt.rstrip().endswith(("assistant", "<|end_header_id|>"))


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean 'llama-3'"):
        chat_template("llama3")
