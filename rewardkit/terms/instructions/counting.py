"""What instructions count: sentences, words in capitals, placeholders, highlights, bullets. Linear in the text."""

from __future__ import annotations

from typing import Final

import regex

_END: Final = regex.compile(r"""(?<![.?!])[.?!]++(?:(?=[)";}\]*:@'({\[])|(?P<blank>\s++)(?=\S))""")
_NEAR: Final = 24
"""Characters before and behind a mark that are looked at; abbreviations and the words of ``_STARTERS`` are shorter."""
_ABBREVIATIONS: Final = frozenset(
    [
        "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "inc", "ltd", "co", "corp", "bros", "gen",
        "sen", "rep", "gov", "lt", "col", "sgt", "capt", "maj", "adm", "rev", "hon", "messrs", "e.g", "i.e",
        "u.s", "u.k", "u.n", "a.m", "p.m", "ph.d", "m.d", "b.a", "m.a", "d.c", "l.a", "n.y", "jan", "feb",
        "mar", "apr", "aug", "sept", "oct", "nov", "dec", "ala", "ariz", "calif", "colo", "conn", "fla", "ga",
        "ill", "ind", "kan", "ky", "mass", "md", "mich", "minn", "mo", "neb", "nev", "okla", "ore", "pa",
        "tenn", "tex", "va", "wash", "wis",
    ]
)  # fmt: skip
"""Words whose period ends no sentence. Where one does ("in the U.S. He left"), the word behind it says so."""
_STARTERS: Final = frozenset(
    [
        "the", "this", "that", "these", "those", "it", "its", "he", "she", "they", "we", "you", "his", "her",
        "their", "our", "my", "there", "here", "in", "on", "at", "as", "if", "for", "but", "and", "or",
        "however", "when", "while", "after", "before", "since", "although", "though", "because", "with",
        "from", "by", "a", "an", "what", "who", "how", "why", "most", "some", "many", "all", "one", "no",
        "not",
    ]
)  # fmt: skip
"""Words that begin a sentence where they are capitalised behind an abbreviation: names are none of them."""
_WORD: Final = regex.compile(r"[^\W_]++")


def sentences(text: str) -> int:
    """How many sentences an English text has, by the rules of Punkt (Kiss and Strunk 2006) without its trained tables.

    ``?`` and ``!`` end one where a blank or a bracket follows; a period does unless it belongs to an abbreviation, an
    initial or dots of omission before a word that begins none. Line ends are blanks.
    """
    text = text.strip()
    return (1 + sum(_ends(text, mark) for mark in _END.finditer(text))) if text else 0


def _ends(text: str, match: regex.Match[str]) -> bool:
    mark = match[0].rstrip()
    if "?" in mark or "!" in mark:
        return True
    before = text[max(0, match.start() - _NEAR) : match.start()]
    word = "" if not before or before[-1].isspace() else before.split()[-1].lower().lstrip("([{\"'*_")
    word = word.rpartition("-")[2]
    bare = len(mark) == 1 and not (word in _ABBREVIATIONS or _is_initial(word))
    if match["blank"] is None or (bare and not word.isdecimal()):
        return bare
    following = text[match.end() : match.end() + _NEAR]
    first = _WORD.search(following)
    begins = first is not None and first[0][0].isupper()
    if bare:  # "1. Eggs" begins a sentence of its own, "1. eggs" doesn't
        return begins or not following[0].isalpha()
    return first is not None and begins and first[0].lower() in _STARTERS


def _is_initial(word: str) -> bool:
    return len(word) == 1 and word.isalpha()


_PIECE: Final = regex.compile(r"(?:[^\s,:;@#$%&?!()\[\]{}<>\"“”«»]|[,:](?=\d))++")
_CONTRACTION: Final = regex.compile(r"(?<=.)(?:'(?:S|M|D|LL|RE|VE)|N'T)\Z")


def capital_words(text: str) -> int:
    """How many words are in capitals, as nltk's tokenizer divides them: ``I'M`` is two, ``A-B`` one."""
    pieces = [piece for piece in _PIECE.findall(text) if piece.isupper()]
    return len(pieces) + sum("'" in piece and _CONTRACTION.search(piece) is not None for piece in pieces)


def placeholders(text: str) -> int:
    """How many ``[...]`` there are, each within a line."""
    return sum("[" in piece for line in text.split("\n") for piece in line.split("]")[:-1])


def bullets(text: str) -> int:
    """How many lines begin with ``*``, but not ``**``, or with ``-``."""
    lines = [line.lstrip() for line in text.split("\n")]
    return sum(line.startswith("-") or (line.startswith("*") and not line.startswith("**")) for line in lines)


_SINGLE: Final = regex.compile(r"\*([^\n*]*+)\*")
_DOUBLE: Final = regex.compile(r"\*\*([^\n*]*+)\*\*")


def highlights(text: str) -> int:
    """How many ``*parts*`` and ``**parts**`` hold something; the second kind counts once for either."""
    return sum(bool(part.strip()) for form in (_SINGLE, _DOUBLE) for part in form.findall(text))


def has_title(text: str) -> bool:
    """Whether a line has ``<<something>>``."""
    for line in text.split("\n"):
        begin, end = line.find("<<"), line.rfind(">>")
        if 0 <= begin < end - 2 and line[begin : end + 2].lstrip("<").rstrip(">").strip():
            return True
    return False
