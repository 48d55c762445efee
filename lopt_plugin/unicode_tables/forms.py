"""Normalization forms as tables, for programs that cannot ask the installed `tokenizers`."""

from __future__ import annotations

import functools
from typing import NamedTuple

from tokenizers import normalizers

from .derive.normalization import with_combining_class
from .derive.normalizers import NFD_CHANGES, NFKD_CHANGES
from .derive.oracle import normalize_each
from .load import character_classes, normalizer_classes
from .table import NFC_FOLLOWS


class FormRows(NamedTuple):
    """A form decomposes characters, sorts those with a combining class, and composes.

    decompositions: (code point, the text that it becomes).
    ranks: (code point, rank of its combining class, from 1), for all classes except 0.
    compositions: (first, second, code point); none for NFD and NFKD.
    """

    decompositions: list[tuple[int, str]]
    ranks: list[tuple[int, int]]
    compositions: list[tuple[int, int, int]]


@functools.cache
def form_rows(form: str) -> FormRows:
    """The tables of NFC, NFD, NFKC or NFKD."""
    compatible = "K" in form
    changed = normalizer_classes().characters(NFKD_CHANGES if compatible else NFD_CHANGES)
    decomposed = normalize_each("NFKD" if compatible else "NFD", list(changed))
    compositions = []
    if form in ("NFC", "NFKC"):
        pairs = character_classes().compose_pairs.tolist()
        made = normalize_each("NFC", [chr(first) + chr(second) for first, second in pairs])
        compositions = [(*pair, ord(c)) for pair, c in zip(pairs, made, strict=True)]
    return FormRows(list(zip(map(ord, changed), decomposed, strict=True)), _ranks(), compositions)


@functools.cache
def _ranks() -> list[tuple[int, int]]:
    """NFD swaps two neighbours exactly if neither combining class is 0 and the first is higher."""
    normalize = normalizers.NFD().normalize_str

    def order(left: str, right: str) -> int:
        if normalize(left + right) == right + left != left + right:
            return 1
        return -1 if normalize(right + left) == left + right != right + left else 0

    whole = [c for c in character_classes().characters(NFC_FOLLOWS) if normalize(c) == c]
    ranks: list[tuple[int, int]] = []
    before = None
    for mark in sorted(sorted(with_combining_class(whole)), key=functools.cmp_to_key(order)):
        rank = ranks[-1][1] if ranks else 0
        ranks.append((ord(mark), rank if before is not None and order(before, mark) == 0 else rank + 1))
        before = mark
    return ranks
