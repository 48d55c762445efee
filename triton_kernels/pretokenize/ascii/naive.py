r"""The reference for the bit-parallel kernels: boundaries of ASCII texts by shifts and additions of whole masks.

A mask is one Python integer, with bit p for byte p. Its shifts and additions carry by themselves what the kernels carry
from word to word and from tile to tile. Before and after the text are separators.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from ...classify.naive_masks import Masks, ascii_masks


def boundaries(text: npt.NDArray[np.uint8], pattern: str) -> npt.NDArray[np.uint64]:
    """`start_bits`, uint64 [ceil(n / 64)]: bit p % 64 of word p // 64 is set where `naive.boundaries` has 1 at byte p.

    text: uint8 [n], ASCII with a byte 0xFF after each document.
    Raises ValueError for other bytes.
    """
    masks = ascii_masks(text, ignore_case=pattern != "gpt2")
    starts = PATTERNS[pattern](masks) | masks.separator | masks.before(masks.separator) | bool(len(text))
    words = -(-len(text) // 64)
    return np.frombuffer(starts.to_bytes(8 * words, "little"), dtype="<u8").astype(np.uint64)


def run_from(first: int, run: int) -> int:
    """`run` from each bit of `first`, a subset, to the run's end: an addition carries through ones."""
    return ((first + run) ^ run | first) & run


def run_up_to(last: int, run: int) -> int:
    """`run` from its beginning to each bit of `last`, a subset, at its ends: by distances that double."""
    distance = 1
    while run:
        last |= run & last >> distance
        run &= run >> distance
        distance *= 2
    return last


def groups_of_three(masks: Masks) -> int:
    """The first digit of each run, and every third one after it."""
    digits = masks.number
    starts = digits & ~masks.before(digits)
    fourth = digits & masks.before(digits) & masks.before(digits, 2) & masks.before(digits, 3)
    distance = 3
    while fourth:
        starts |= fourth & starts << distance
        fourth &= fourth << distance
        distance *= 2
    return starts


def white_space(masks: Masks, absorbed: int, enders: int) -> int:
    r"""Starts of `\s*[\r\n]+|\s+(?!\S)|\s+`.

    absorbed: newlines that belong to the token before. enders: characters at which the text ends for the pattern.
    """
    newline, plain = masks.newline, masks.plain
    space = newline | plain
    ends_at_newline = run_up_to(plain & masks.after(newline), plain)
    last = plain & ~masks.after(space) & ~masks.after(enders, beyond=1)
    after_newline = plain & masks.before(newline) & ~ends_at_newline
    return (space & ~masks.before(space) & ~absorbed) | plain & masks.before(absorbed) | after_newline | last


def _contractions_of_others(masks: Masks) -> tuple[int, int]:
    """Apostrophes of contractions of two and of three characters that begin a pre-token."""
    free = ~masks.before(masks.other | masks.ascii_space)
    return masks.of_two & free, masks.of_three & free


def _gpt2(masks: Masks) -> int:
    of_two, of_three = _contractions_of_others(masks)
    space = masks.newline | masks.plain
    words = 0
    for group in (masks.letter, masks.number, masks.other):
        words |= group & ~masks.before(group)
    words &= ~masks.before(masks.ascii_space) & ~masks.before(of_two | of_three)
    last = space & ~masks.after(space) & ~masks.after(masks.separator, beyond=1)
    return words | masks.before(of_two, 2) | masks.before(of_three, 3) | space & ~masks.before(space) | last


def _cl100k(masks: Masks, groups: bool) -> int:
    before, letter, other, ascii_space = masks.before, masks.letter, masks.other, masks.ascii_space
    of_two, of_three = _contractions_of_others(masks)
    prefix = other & ~before(other | ascii_space)
    letters = letter & ~before(letter | masks.plain | prefix)
    letters |= letter & (before(of_two, 2) | before(of_three, 3))
    digits = groups_of_three(masks) if groups else masks.number
    absorbed = run_from(masks.newline & before(other), masks.newline)
    return letters | digits | prefix | white_space(masks, absorbed, masks.separator)


def real_contractions(masks: Masks) -> tuple[int, int]:
    """Apostrophes of o200k's contractions, of two and of three characters: at words that do not end in one already."""
    of_two = masks.of_two & masks.before(masks.letter)
    of_three = masks.of_three & masks.before(masks.letter)
    real, left = 0, of_two | of_three
    while left:
        first = left & -left
        left ^= first
        if not (real & of_two) << 2 & first and not (real & of_three) << 3 & first:
            real |= first
    return of_two & real, of_three & real


def _o200k(masks: Masks, contractions: bool, groups: bool) -> int:
    before, letter, other, newline = masks.before, masks.letter, masks.other, masks.newline
    of_two, of_three = real_contractions(masks) if contractions else (0, 0)
    real = of_two | of_three
    inside = before(real) | before(of_three, 2)
    after_contraction = before(of_two, 2) | before(of_three, 3)
    trailing = run_from(newline & before(other), newline | masks.slash)
    opening = before(masks.ascii_space) | ~masks.after(letter)
    in_other = other & ~trailing & (opening | before(other & ~trailing))
    # An other character in neither a run nor a contraction is the optional first character of a word.
    prefix = other & ~in_other & ~trailing & ~real
    case = masks.upper & before(letter & ~masks.upper)
    letters = letter & (after_contraction | case | ~before(letter | masks.plain | prefix))
    others = other & ~before(in_other | masks.ascii_space) & ~real & ~(masks.slash & before(trailing))
    digits = groups_of_three(masks) if groups else masks.number
    spaces = white_space(masks, trailing & newline, masks.separator) | masks.plain & before(trailing)
    return letters & ~inside | digits | others | spaces


def _deepseek(masks: Masks) -> int:
    before, letter, number, ascii_space = masks.before, masks.letter, masks.number, masks.ascii_space
    punctuation = masks.other & ~masks.control
    prefix = punctuation & ~before(punctuation | ascii_space)
    stretches = ~number & before(number)
    words = letter & ~before(letter | masks.plain | masks.control | prefix)
    unassigned = masks.control & (~before(masks.control) | masks.after(letter))
    absorbed = run_from(masks.newline & before(punctuation), masks.newline)
    spaces = white_space(masks, absorbed, masks.separator | number)
    return (groups_of_three(masks) | stretches | words | prefix | unassigned | spaces) & masks.all


PATTERNS: dict[str, Callable[[Masks], int]] = {
    "gpt2": _gpt2,
    "qwen2": partial(_cl100k, groups=False),
    "cl100k": partial(_cl100k, groups=True),
    "o200k": partial(_o200k, contractions=True, groups=True),
    "tekken": partial(_o200k, contractions=False, groups=False),
    "deepseek_v3": _deepseek,
}
