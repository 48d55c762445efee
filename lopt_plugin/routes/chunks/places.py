r"""Where a text may be divided.

A *cut* is a place that is a boundary whatever stands around it: left and right of it can be tokenized apart. A *free*
place is one at which a chunk may begin or end, though its first words are a guess and its last ones are cut off.

Both have to be *quiet*: no added token reaches across, so that they are found in a chunk as in the whole text (they are
found leftmost-longest, and no match that begins before the place ends behind it). No added token touches the place, not
even through the blanks beside it: so lstrip, rstrip and single_word see what they see in the whole text.

Where the normalizer composes characters, the character behind a place is one that takes no part in what stands before
it: a starter, never the second of a composing pair, and so is what it decomposes into.

Cuts of a split pattern: between a letter or ASCII digit and a blank or a punctuation mark that is no apostrophe. No
match of an allow-listed pattern has one behind the other, so all of them divide there; and a letter or digit at the end
of a text is matched as it is before such a character. WordPiece's pre-tokenizers divide there too. The characters are
listed one by one: all of them have been what they are since the first version of Unicode.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

from ...pipeline.chunking import Chunkable
from .vocabulary import VocabularyCuts

CJK = "\u4e00-\u9fa5\u3041-\u3094\u30a1-\u30fa\uac00-\ud7a3"
LETTERS_AND_DIGITS = "A-Za-z0-9\u0391-\u03a1\u03b1-\u03c9\u0410-\u044f\u05d0-\u05ea\u0627-\u063a" + CJK
CJK_PUNCTUATION = "\u3001\u3002\uff0c\uff0e\uff1a\uff1b\uff01\uff1f\u300a\u300b\u300c\u300d\uff08\uff09"
BLANKS = " \n"

_CUT = re.compile(rf"(?<=[{LETTERS_AND_DIGITS}])[{BLANKS}\t,.;:!?(){CJK_PUNCTUATION}]")
_CUT_BEFORE_BLANK = re.compile(rf"(?<=[{LETTERS_AND_DIGITS}]) ")
_STARTER = re.compile(rf"[\x20-\x7e\n\t\r\u0410-\u044f{CJK}{CJK_PUNCTUATION}]")
_ANY = re.compile(r"(?s).")
# A text may be made so that no place is quiet; looking for one must stay much shorter than tokenizing.
_LONGEST_BLANK_RUN = 200
_MOST_TRIES = 32


class AddedTokens:
    """What added tokens look like in a text; `normalizer` is the tokenizer's own, or None.

    `literals` are other texts that must not be torn, neither in the text nor in the normalized text.
    """

    def __init__(self, tokens: Iterable[Any], normalizer: Any, literals: Iterable[str] = ()) -> None:
        self._contents: set[str] = set(literals)
        self._normalized: list[str] = list(self._contents) if normalizer is not None else []
        self._normalizer = normalizer
        for token in tokens:
            self._contents.add(token.content)
            if token.normalized and normalizer is not None:
                self._normalized.append(normalizer.normalize_str(token.content))
        self._contents.discard("")
        self._longest = max(map(len, (*self._contents, *self._normalized)), default=0)
        self._lengths: dict[str, list[int]] = {}
        for first, length in sorted({(content[0], len(content)) for content in self._contents}):
            self._lengths.setdefault(first, []).append(length)

    def quiet(self, text: str, place: int) -> bool:
        """Whether no added token touches `place` or the blanks beside it."""
        if not self._contents:
            return True
        first, last = max(0, place - _LONGEST_BLANK_RUN), min(len(text), place + _LONGEST_BLANK_RUN)
        left = first + len(text[first:place].rstrip())
        right = last - len(text[place:last].lstrip())
        if place - left == _LONGEST_BLANK_RUN or right - place == _LONGEST_BLANK_RUN:
            return False
        for start in range(max(0, left - self._longest), min(right + 1, len(text))):
            for length in self._lengths.get(text[start], ()):
                if start + length >= left and text[start : start + length] in self._contents:
                    return False
        if not self._normalized:
            return True
        # A character is composed of four at most, and blanks that become one stand in no token's way: what matches in
        # the normalized text is in the window as a whole.
        reach = 4 * self._longest + 16
        window = self._normalizer.normalize_str(text[max(0, left - reach) : right + reach])
        return not any(content in window for content in self._normalized)


class Places:
    """Finds places for one tokenizer. `cuts` is needed where the vocabulary decides."""

    def __init__(self, chunkable: Chunkable, added_tokens: AddedTokens, cuts: VocabularyCuts | None) -> None:
        self._added_tokens = added_tokens
        self._cuts = cuts
        self._cut = _CUT_BEFORE_BLANK if chunkable.only_before_blanks else _CUT
        self._start = _STARTER if chunkable.composes else _ANY

    def cut(self, text: str, first: int, stop: int) -> int | None:
        """The first cut in first .. stop - 1, first > 0; None if there is none among the first 32 candidates."""
        if self._cuts is not None:
            between = self._cuts.between
            places = (p for p in range(first, min(stop, len(text))) if between(text[p - 1], text[p]))
            return self._first_quiet(places, text)
        return self._first_quiet((found.start() for found in self._cut.finditer(text, first, stop)), text)

    def free(self, text: str, first: int, stop: int) -> int | None:
        """The same for a place at which a chunk may begin or end."""
        return self._first_quiet((found.start() for found in self._start.finditer(text, first, stop)), text)

    def _first_quiet(self, places: Iterable[int], text: str) -> int | None:
        tried = itertools.islice(places, _MOST_TRIES)
        return next((place for place in tried if self._added_tokens.quiet(text, place)), None)
