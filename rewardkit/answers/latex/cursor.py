"""A place in a list of tokens, with the small steps that a recursive descent takes."""

from __future__ import annotations

from typing import Final

from rewardkit.answers.latex.atoms import SEPARATORS, SET_OPERATORS
from rewardkit.answers.latex.tokens import Token
from rewardkit.answers.latex.tree import Tree, Unreadable

END: Final = Token("end", "", False)
CLOSERS: Final = frozenset([")", "]", "}", "\\}", "|", "\\rfloor", "\\rceil", "\\rangle", "\\rvert", "&", "\\\\"])


_NAMING: Final = ("name", "cmd", "text")


def joining(token: Token) -> str:
    """What a token between two members of a list says: ``and``, ``or``, a comma; empty for any other token."""
    if token.kind == "op":
        return "," if token.text in ",;&" else ""
    return SEPARATORS.get(token.text.strip(" ,.;\\").lower(), "") if token.kind in _NAMING else ""


class Cursor:
    """Tokens, the place in them, and what the two halves of the parser share."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.bars = 0
        self.braces = 0
        self.square = 0
        self.opened = ""

    def statement(self) -> Tree:
        """A list of clauses; given by the upper half, as are the others here."""
        raise NotImplementedError

    def clause(self) -> Tree:
        """A relation or expression."""
        raise NotImplementedError

    def expression(self) -> Tree:
        """A sum, or a union of sets."""
        raise NotImplementedError

    def sum(self) -> Tree:
        """Terms with plus and minus."""
        raise NotImplementedError

    def term(self) -> Tree:
        """Factors."""
        raise NotImplementedError

    def starts_factor(self) -> bool:
        """Whether the next token can begin a factor."""
        raise NotImplementedError

    def peek(self, ahead: int = 0) -> Token:
        """The token ahead, or END."""
        i = self.at + ahead
        return self.tokens[i] if i < len(self.tokens) else END

    def closes(self) -> bool:
        r"""Whether a ``[`` here closes an interval, as in ``[0, 1[``: nothing follows that it could open."""
        if not self.square:
            return False
        after = self.peek(1)
        return (
            after is END
            or after.text in CLOSERS
            or after.text in SET_OPERATORS
            or (bool(joining(after)) and after.text != "&")
            or after.text == "["
        )

    def take(self) -> Token:
        """The next token, which is passed."""
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *texts: str) -> bool:
        """Pass the next token if it is one of these."""
        if self.peek().kind in ("op", "cmd") and self.peek().text in texts:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Pass the next token, which must be this."""
        if not self.accept(text):
            raise Unreadable(f"{self.peek().text!r} where {text!r} was expected")

    def separator(self) -> str:
        """Skip ``,`` ``;`` and ``and`` / ``or`` between the members of a list; what they say, empty for nothing."""
        separator = ""
        while (token := self.peek()) is not END:
            said = joining(token)
            if not said:
                break
            self.at += 1
            separator = said if said != "," else separator or said
        return separator
