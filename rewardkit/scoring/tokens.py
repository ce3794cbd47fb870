"""Token ids of rows that hold text only, such as verl's dumps: the text is encoded again by the model's tokenizer.

What comes back is near to what the policy wrote, not always equal to it: a dump leaves the end token out, and a policy
can write a text in other pieces than its tokenizer would. Lengths differ by one or two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import ConfigError, MissingDependencyError

Encode = Callable[[Sequence[str]], list[list[int]]]
"""From texts to their token ids, without the special tokens that a tokenizer puts around a text."""
_FILE: Final = "tokenizer.json"
_CHOSEN: Final[list[Encode]] = []  # of the whole process: terms run in threads, which have contexts of their own


@contextmanager
def encoding_by(model: str | None) -> Iterator[None]:
    """Within it, rows without `tokens` get those of their response; None changes nothing.

    Args:
        model: a model's folder, or its name on the Hugging Face hub.

    Raises:
        ConfigError: no tokenizer there, or not to be had from here.
        MissingDependencyError: tokenizers is not installed.
    """
    if model is None:
        yield
        return
    _CHOSEN.append(load_encoder(model))
    try:
        yield
    finally:
        _CHOSEN.pop()


def encoder() -> Encode | None:
    """What encodes texts here, if anything does."""
    return _CHOSEN[-1] if _CHOSEN else None


def load_encoder(model: str) -> Encode:
    """The tokenizer of a model. A folder is read without a network.

    Raises:
        ConfigError: no tokenizer there, or not to be had from here.
        MissingDependencyError: tokenizers is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingDependencyError(
            "--tokenizer needs tokenizers, which is not installed", hint="pip install 'rewardkit-rl[tokenizer]'"
        ) from None
    folder = Path(model).expanduser()
    path = folder / _FILE if folder.is_dir() else folder
    try:
        if path.is_file():
            made: Any = Tokenizer.from_file(str(path))
        elif folder.is_dir() or model.startswith((".", "/", "~")) or model.count("/") > 1:
            raise ConfigError(
                f"--tokenizer {model}: no {_FILE} there",
                hint="a folder with one, or a model's name on the hub; AutoTokenizer.from_pretrained(...)"
                ".save_pretrained(FOLDER) writes it",
            )
        else:
            made = Tokenizer.from_pretrained(model)
    except ConfigError:
        raise
    except Exception as e:  # tokenizers raises a bare Exception for a broken file, the hub some twenty kinds
        raise ConfigError(
            f"--tokenizer {model} can't be read: {(str(e).strip() or type(e).__name__).splitlines()[0]}",
            hint="a model's folder works without a network",
        ) from e

    def encode(texts: Sequence[str]) -> list[list[int]]:
        whole = [text.encode("utf-8", "replace").decode() for text in texts]  # half a surrogate pair is no text
        return [e.ids for e in made.encode_batch_fast(whole, add_special_tokens=False)]

    return encode
