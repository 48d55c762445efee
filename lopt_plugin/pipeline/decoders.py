"""Hugging Face decoders, described by the text that each token contributes.

Each decoder changes a list of tokens. Most change each token independently; some treat the first token of a text
differently. So a token has two forms: as the first token, and as any other. The rest is how the forms are joined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tokenizers

from .component_state import State, Unsupported, check_step, state_of, steps_of

_OPTIONS = {
    "ByteLevel": {"add_prefix_space", "trim_offsets", "use_regex"},
    "ByteFallback": set(),
    "Fuse": set(),
    "Metaspace": {"replacement", "prepend_scheme", "split"},
    "Replace": {"pattern", "content"},
    "Strip": {"content", "start", "stop"},
    "WordPiece": {"prefix", "cleanup"},
}
# The reference reads "+A" as a number, too.
_BYTE_TOKEN = re.compile("<0x([0-9A-Fa-f+][0-9A-Fa-f])>")
# What WordPiece's `cleanup` replaces in each token, in this order.
_CLEANED = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m")),
    *((" do not", " don't"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")),
)


@dataclass(frozen=True)
class TokenForm:
    """A step that changes each token independently.

    other: the form of a token that is not the first of a text. first: the form of the first token; None if the same.
    """

    other: Callable[[str], str]
    first: Callable[[str], str] | None = None


@dataclass(frozen=True)
class Decoder:
    """From tokens to text.

    kind: the names of the decoders.
    forms: the steps that change each token independently, in order.
    byte_level: the characters of a token stand for bytes, which are decoded together; invalid ones become U+FFFD.
    byte_fallback: the tokens "<0x00>" to "<0xFF>" stand for bytes. A run of them is a text, or one U+FFFD per byte.
    stripped, most_stripped: a character stripped from the start of the whole text, and the maximum number of times.
    """

    kind: str
    forms: tuple[TokenForm, ...] = ()
    byte_level: bool = False
    byte_fallback: bool = False
    stripped: str = " "
    most_stripped: int = 0

    def forms_of(self, tokens: Sequence[str | None]) -> tuple[list[str | None], list[str | None]]:
        """Each token's form when it is not the first of a text, and when it is."""
        others = firsts = list(tokens)
        for form in self.forms:
            first = form.first or form.other
            same = firsts is others and form.first is None
            changed = [None if token is None else form.other(token) for token in others]
            firsts = changed if same else [None if token is None else first(token) for token in firsts]
            others = changed
        return others, firsts

    def byte_of(self, form: str) -> int | None:
        """The byte that the form of a token stands for."""
        found = _BYTE_TOKEN.fullmatch(form) if self.byte_fallback else None
        return None if found is None else int(found[1], 16)


def read_decoder(tokenizer: tokenizers.Tokenizer) -> Decoder:
    """The decoder of a tokenizer. Raises Unsupported."""
    if "decode" in getattr(tokenizer, "__dict__", {}):
        raise Unsupported("the method `decode` of the backend was replaced")
    state = state_of(tokenizer.decoder, "decoder")
    if state is None:
        return Decoder("none", forms=(TokenForm(" ".__add__, str),))
    steps = steps_of(state, "decoders")
    return _joined([check_step(step, _OPTIONS, "decoder") for step in steps], steps)


def _joined(kinds: list[str], steps: list[State]) -> Decoder:
    """Steps for each token, at most one that makes bytes, a Fuse, and at most one Strip of the whole text."""
    kind = ", ".join(kinds)
    if kinds[:1] == ["ByteLevel"] and set(kinds[1:]) <= {"Fuse"}:
        return Decoder(kind, byte_level=True)
    count = next((place for place, name in enumerate(kinds) if name in ("ByteFallback", "Fuse")), len(kinds))
    forms = tuple(_FORMS[step["type"]](step) if step["type"] in _FORMS else _refuse(kind) for step in steps[:count])
    rest = kinds[count:]
    byte_fallback = rest[:1] == ["ByteFallback"]
    rest = rest[byte_fallback:]
    if rest in ([], ["Fuse"]):
        return Decoder(kind, forms, byte_fallback=byte_fallback)
    if rest != ["Fuse", "Strip"]:
        _refuse(kind)
    strip = steps[-1]
    if strip["stop"] or not strip["content"].isascii():
        raise Unsupported("decoder Strip strips something other than ASCII from the beginning")
    return Decoder(kind, forms, False, byte_fallback, strip["content"], strip["start"])


def _refuse(kind: str) -> Any:
    raise Unsupported(f"the decoders {kind}, in this order, are not accelerated yet")


def _replace(step: State) -> TokenForm:
    pattern, content = step["pattern"].get("String"), step["content"]
    if not pattern:
        raise Unsupported("decoder Replace has a regular expression")
    return TokenForm(lambda token: token.replace(pattern, content))


def _strip(step: State) -> TokenForm:
    if step["stop"]:
        raise Unsupported("decoder Strip strips the end of tokens")
    character, most = step["content"], step["start"]
    return TokenForm(lambda token: token[min(most, len(token) - len(token.lstrip(character))) :])


def _metaspace(step: State) -> TokenForm:
    replacement = step["replacement"]
    if step["prepend_scheme"] == "never":
        return TokenForm(lambda token: token.replace(replacement, " "))
    return TokenForm(lambda token: token.replace(replacement, " "), lambda token: token.replace(replacement, ""))


def _word_piece(step: State) -> TokenForm:
    prefix, cleans = step["prefix"], step["cleanup"]

    def other(token: str) -> str:
        return clean(token[len(prefix) :] if token.startswith(prefix) else f" {token}")

    def clean(token: str) -> str:
        if cleans and " " in token:
            for dirty, cleaned in _CLEANED:
                token = token.replace(dirty, cleaned)
        return token

    return TokenForm(other, clean)


_FORMS: dict[str, Callable[[State], TokenForm]] = {
    "Replace": _replace,
    "Strip": _strip,
    "Metaspace": _metaspace,
    "WordPiece": _word_piece,
}
