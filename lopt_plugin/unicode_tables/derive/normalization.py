"""How normalization forms may treat a character next to others: bits of the class tables, and the composing pairs.

Everything comes from the normalizers of the installed `tokenizers`, whose Unicode version differs from Python's.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from .oracle import SCALAR_VALUES, Mask, normalize_each, to_text

# Two marks of the reference, the second of the higher combining class: NFD puts them into this order.
_LOW_MARK, _HIGH_MARK = "\u0334", "\u0345"


class Decompositions:
    """Two forms of every scalar value, NFD and NFC or NFKD and NFKC; lists are indexed as SCALAR_VALUES."""

    def __init__(self, decomposed: str = "NFD", composed: str = "NFC") -> None:
        self.characters = list(to_text(SCALAR_VALUES))
        self.decomposed = normalize_each(decomposed, self.characters)
        self.composed = normalize_each(composed, self.characters)


def follows(decompositions: Decompositions, canonical: Decompositions | None = None) -> Mask:
    """Characters that NFD or NFKD may reorder with earlier ones, or, with `canonical`, that NFC or NFKC may compose.

    All forms decompose and reorder; NFC and NFKC also compose. Of a character c, only the first character d of its
    decomposition meets the text before c. It is reordered only if its combining class is not 0. It composes with an
    earlier character only as the second part of a pair, and then it is second or later in the canonical decomposition
    of the pair's product: NFKC composes the pairs of NFC.
    """
    wanted = with_combining_class(sorted({text[0] for text in decompositions.decomposed}))
    if canonical is not None:
        wanted |= {c for text in set(canonical.decomposed) if len(text) > 1 for c in text[1:]}
    begins = (text[0] in wanted for text in decompositions.decomposed)
    return np.fromiter(begins, dtype=np.bool_, count=len(SCALAR_VALUES))


def with_combining_class(decomposed: list[str]) -> set[str]:
    """The fully decomposed characters whose combining class is not 0.

    Two neighbours are reordered exactly if neither class is 0 and the first is higher. The reference reorders HIGH LOW,
    so 0 < class(LOW) < class(HIGH). In HIGH c LOW, a c of class 0 keeps the three in place; with any other class, LOW
    moves before HIGH.
    """
    assert normalize_each("NFD", [_HIGH_MARK + _LOW_MARK]) == [_LOW_MARK + _HIGH_MARK]
    questions = [_HIGH_MARK + c + _LOW_MARK for c in decomposed if c != "\n"]
    answers = normalize_each("NFD", questions)
    return {question[1] for question, answer in zip(questions, answers, strict=True) if question != answer}


def compose_pairs(decompositions: Decompositions) -> npt.NDArray[np.uint32]:
    """Every (a, b), NFC(a) = a and NFC(b) = b, with NFC(a + b) a single character; uint32 [n, 2], sorted.

    Let NFC(a + b) = x. Then NFD(x) is NFD(a) and NFD(b), put into order. Ordering keeps the order of characters of one
    class, and both parts are already ordered, so each is a subsequence of NFD(x) and the other is the rest. So all
    pairs are found by dividing every NFD(x) into two subsequences, composing each, and asking the reference to compose
    the two. Decompositions have at most four characters.
    """
    halves: dict[tuple[str, str], None] = {}
    for c, nfd, nfc in zip(decompositions.characters, decompositions.decomposed, decompositions.composed, strict=True):
        if c == nfc and c != nfd:
            for size in range(1, len(nfd)):
                for taken in combinations(range(len(nfd)), size):
                    left = "".join(nfd[i] for i in taken)
                    right = "".join(nfd[i] for i in range(len(nfd)) if i not in taken)
                    halves[left, right] = None
    lefts = normalize_each("NFC", [left for left, _ in halves])
    rights = normalize_each("NFC", [right for _, right in halves])
    candidates = sorted({(a, b) for a, b in zip(lefts, rights, strict=True) if len(a) == 1 and len(b) == 1})
    composed = normalize_each("NFC", [a + b for a, b in candidates])
    pairs = [(ord(a), ord(b)) for (a, b), result in zip(candidates, composed, strict=True) if len(result) == 1]
    return np.array(pairs, dtype=np.uint32).reshape(-1, 2)


def differ(left: list[str], right: list[str]) -> Mask:
    return np.fromiter((a != b for a, b in zip(left, right, strict=True)), dtype=np.bool_, count=len(left))
