r"""Seams: positions where two overlapping chunks agree, and the conditions under which that proves the join exact.

LoPT matches the tokens of two neighbours by their positions in the text. That is not enough: the split pattern may
group a run of characters in two ways, with equal tokens along the whole run. So a position p is a seam only if

- in both chunks a new pre-token begins at p, with a matched token;
- p is not the right chunk's start, where a pre-token begins only because the chunk does;
- the left chunk's pre-tokens up to p cannot depend on the text that it lacks: between p and its end there is a *stop*,
  then a character that is not white space (unless the stop itself is not), then one more character. A stop is a
  character that ends every run a pattern follows: neither a letter nor a mark.

Then the left chunk is correct up to p, and the right one, which reads the true text from p on, is correct from p on.
What patterns look for after the end of a pre-token, and so after p: the end of a run of white space (`\s+(?!\S)`,
`\s*[\r\n]+`); a contraction, which is an apostrophe and letters; the end of a run of letters and marks (o200k's
patterns give back upper-case letters until they find lower-case ones); CLIP's `<|endoftext|>`, whose last character
comes after a stop. Three characters of which one is not white space do not suffice for o200k's pattern, where a run of
any length decides.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from tokenizers import Encoding

from .boundaries import CJK, CJK_PUNCTUATION

_PUNCTUATION = frozenset('!"#$%&()*+,-./:;<=>?@[]_{|}~0123456789' + CJK_PUNCTUATION)
_STOPS = _PUNCTUATION | frozenset(" \n\r\t")
_CJK_RANGES = [(CJK[k], CJK[k + 2]) for k in range(0, len(CJK), 3)]


@dataclass(frozen=True)
class ChunkTokens:
    """The ids of a chunk, and the pre-tokens that begin near its ends.

    head, tail: from the place in the whole text where a pre-token begins to the index of its first token.
    """

    ids: list[int]
    head: dict[int, int]
    tail: dict[int, int]


@dataclass(frozen=True)
class Seam:
    """A join at `place` in the text: the left chunk's tokens before index `left`, the right one's from `right` on."""

    place: int
    left: int
    right: int


def pre_token_starts(encoding: Encoding, first: int, stop: int, offset: int) -> dict[int, int]:
    """Pre-tokens that begin in first .. stop - 1 of the encoded text: place plus `offset`, to their first token.

    Leaves out a pre-token that begins within a character: the previous token reaches into that character, or several
    tokens have the same span and this is not the first of them.
    """
    # `offsets` and `word_ids` would create Python objects for all tokens; asking for single tokens is far cheaper.
    span_of, word_of = encoding.token_to_chars, encoding.token_to_word
    count = len(encoding)
    low = bisect_left(range(count), first, key=lambda token: (span_of(token) or (first,))[0])
    starts: dict[int, int] = {}
    last_end, last_word = 0, None
    for token in range(max(0, low - 1), count):
        span, word = span_of(token), word_of(token)
        if span is None:
            break
        start, end = span
        if start >= stop:
            break
        if token >= low and word != last_word and last_end <= start < end:
            starts.setdefault(offset + start, token)
        last_end, last_word = max(end, last_end), word
    return starts


def find_seam(
    text: str, left: ChunkTokens, left_end: int, right: ChunkTokens, right_start: int, at_least: int, tokens: int
) -> Seam | None:
    """The first seam from `at_least` on at which the next `tokens` ids are equal; None if there is none."""
    final = last_final_place(text, right_start, left_end)
    for place in sorted(left.tail.keys() & right.head.keys()):
        if place <= right_start or place < at_least:
            continue
        if place > final:
            return None
        i, j = left.tail[place], right.head[place]
        ids = left.ids[i : i + tokens]
        if len(ids) == tokens and ids == right.ids[j : j + tokens]:
            return Seam(place, i, j)
    return None


def last_final_place(text: str, first: int, end: int) -> int:
    """The last position where the start of a pre-token is final in a chunk ending at `end`; below `first` if none."""
    if end == len(text):
        return end
    solid = False
    for place in range(end - 2, first, -1):
        character = text[place]
        solid = solid or character in _PUNCTUATION or _surely_not_space(character)
        if solid and character in _STOPS:
            return place - 1
    return first - 1


def _surely_not_space(character: str) -> bool:
    return "a" <= character <= "z" or "A" <= character <= "Z" or any(a <= character <= b for a, b in _CJK_RANGES)
