r"""Seams: where two chunks that overlap say the same, and when that is a proof.

LoPT matches the tokens of two neighbours by their positions in the text. That is not enough (the split pattern may
group a run of characters in two ways, with equal tokens for as long as the run lasts), so a seam p counts only where

- a matched token begins a new word at p in both chunks,
- p is not the right chunk's own start, where a word begins only because the chunk does,
- the left chunk's words up to p cannot depend on what it was cut off from: between p and its end stands a *stop*, then
  a character that is no blank (or the stop is none itself), then one more character. A stop is a character that ends
  every run a pattern looks along: it is neither letter nor mark.

Then the left chunk is true up to p, and the right one, which reads the true text from p on, is true from p on. What
patterns look for behind a word's end, and so behind p: the end of a run of blanks (`\s+(?!\S)`, `\s*[\r\n]+`); a
contraction, which is an apostrophe and letters; the end of a run of letters and marks (the patterns of o200k give back
upper-case letters until they find lower-case ones); `<|endoftext|>` in CLIP's, whose last character stands behind a
stop. Three characters and a non-blank do not suffice for o200k's pattern, as a run of any length decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokenizers import Encoding

from .places import CJK, CJK_PUNCTUATION

_PUNCTUATION = frozenset('!"#$%&()*+,-./:;<=>?@[]_{|}~0123456789' + CJK_PUNCTUATION)
_STOPS = _PUNCTUATION | frozenset(" \n\r\t")
_RANGES = [(CJK[k], CJK[k + 2]) for k in range(0, len(CJK), 3)]


@dataclass(frozen=True)
class ChunkTokens:
    """What a chunk's tokens were: all ids, and the words that begin near its ends.

    head and tail map the place in the whole text at which a word begins to the number of its first token.
    """

    ids: list[int]
    head: dict[int, int]
    tail: dict[int, int]


@dataclass(frozen=True)
class Seam:
    """Left chunk's tokens before number `left`, then the right one's from number `right` on; `place` is in the text."""

    place: int
    left: int
    right: int


def word_starts(encoding: Encoding, first: int, stop: int, offset: int) -> dict[int, int]:
    """Words that begin at a character of first .. stop - 1 of the encoded text, by their place in the whole text.

    Left out is a word that begins within a character: the token before it reaches into that character, or it is not the
    first of several tokens that have the same span.
    """
    # `offsets` and `word_ids` would make Python objects for all tokens; one token at a time costs a fraction of it.
    span_of, word_of = encoding.token_to_chars, encoding.token_to_word
    count = len(encoding)
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        span = span_of(middle)
        low, high = (middle + 1, high) if span is not None and span[0] < first else (low, middle)
    starts: dict[int, int] = {}
    end_before, word_before = 0, None
    for token in range(max(0, low - 1), count):
        span, word = span_of(token), word_of(token)
        if span is None:
            break
        start, end = span
        if start >= stop:
            break
        if token >= low and word != word_before and end_before <= start < end:
            starts.setdefault(offset + start, token)
        end_before, word_before = max(end, end_before), word
    return starts


def find_seam(
    text: str, left: ChunkTokens, left_end: int, right: ChunkTokens, right_start: int, at_least: int, tokens: int
) -> Seam | None:
    """The first place from `at_least` on that is a seam, with `tokens` equal ids behind it; None if there is none."""
    settled = last_settled(text, right_start, left_end)
    for place in common(left.tail, right.head):
        if place <= right_start or place < at_least:
            continue
        if place > settled:
            return None
        i, j = left.tail[place], right.head[place]
        ids = left.ids[i : i + tokens]
        if len(ids) == tokens and ids == right.ids[j : j + tokens]:
            return Seam(place, i, j)
    return None


def last_settled(text: str, first: int, end: int) -> int:
    """The last place at which a word's beginning is final in a chunk that ends at `end`; less than `first` if none."""
    if end == len(text):
        return end
    solid = False
    for place in range(end - 2, first, -1):
        character = text[place]
        solid = solid or character in _PUNCTUATION or _surely_no_blank(character)
        if solid and character in _STOPS:
            return place - 1
    return first - 1


def common(left: Iterable[int], right: dict[int, int]) -> list[int]:
    """Places of both, in order."""
    return sorted(place for place in left if place in right)


def _surely_no_blank(character: str) -> bool:
    return "a" <= character <= "z" or "A" <= character <= "Z" or any(a <= character <= b for a, b in _RANGES)
