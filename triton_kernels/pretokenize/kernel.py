"""Planes of classes to start bits, 64 bytes a lane.

First a summary of each tile, then a scan over the summaries (`pretokenize.carries`), then the starts. A word of 64
bytes is summarized in one code:

    bits 0 to 23    what it does to the state of the pattern's machine, as an octal number (`machines`)
    bits 24, 25     the first character that is not plain white space: 1 a newline, 0 another, 2 there is none
    bits 26, 27     the first character that is not an upper-case letter: 1 one of words, 0 another, 2 there is none
"""

from __future__ import annotations

import functools
from typing import Any

import triton
import triton.language as tl

from ..classify.text_words import bytes_after_text
from ..common.limits import MASK_TILE, PATTERNS, warps_of
from ..common.variant import Variant
from . import machines
from .bit_masks import from_before
from .carries import CARRIES, FUNCTION, NEWLINE_AHEAD, WORD_AHEAD
from .cl100k import cl100k_after, cl100k_starts
from .deepseek import deepseek_after, deepseek_starts
from .digits import digits_after
from .gpt2 import gpt2_starts
from .o200k import letters_and_marks_at, o200k_after, o200k_starts
from .planes import groups_at
from .scans import answer_after, at_last, compose, first_beyond, first_of_tile

ANY_STATE = tl.constexpr(0o11111111)
ALL_STATES = tl.constexpr(0o77777777)


@functools.cache
def constants(pattern: str, tile: int) -> dict[str, Any]:
    """Compile-time constants of a pattern; callers must not change them.

    STATES: those of its machine, without those after digits. GROUPS: whether there are states after digits; that after
    n digits of a group is then STATES - 1 + n, and after none it is 0.
    """
    machine: Any = machines.Cl100k
    if pattern in ("o200k", "tekken"):
        machine = machines.O200k
    elif pattern == "deepseek_v3":
        machine = machines.Deepseek
    groups = pattern in ("cl100k", "o200k", "deepseek_v3")
    return {"PATTERN": pattern, "GROUPS": groups, "STATES": machine.ONE_DIGIT, "TILE": tile}


@triton.jit
def _after(planes, words, word, state, PATTERN: tl.constexpr):
    if (PATTERN == "o200k") | (PATTERN == "tekken"):
        after = o200k_after(planes, words, word, state, PATTERN == "o200k")
    elif PATTERN == "deepseek_v3":
        after = deepseek_after(planes, words, word, state)
    else:
        after = cl100k_after(planes, words, word, state)
    return after


@triton.jit
def _state_of_digits(digits, STATES: tl.constexpr):
    digits = tl.where(digits >= 3, digits - 3, digits)
    return tl.where(digits == 0, 0, STATES - 1 + digits)


@triton.jit
def _with_digits(function, number, lead, STATES: tl.constexpr):
    """The function of each word, corrected where it ends in digits: after another character, or digits only."""
    digits, only_digits = digits_after(number, lead)
    of_digits = _state_of_digits(digits, STATES) * ANY_STATE
    first = tl.where(only_digits, _state_of_digits(digits + 1, STATES), of_digits & 7)
    second = tl.where(only_digits, _state_of_digits(digits + 2, STATES), of_digits & 7)
    kept: tl.constexpr = 0o77777777 & ~(0o77 << (3 * STATES))
    of_digits = (of_digits & kept) | (first << (3 * STATES)) | (second << (3 * STATES + 3))
    return tl.where(number >> 63 != 0, of_digits, function)


@triton.jit(do_not_specialize=["words", "tiles"])
def summary_kernel(
    planes,
    codes,
    scratch,
    words,
    tiles,
    PATTERN: tl.constexpr,
    GROUPS: tl.constexpr,
    STATES: tl.constexpr,
    TILE: tl.constexpr,
):
    """codes[w] = the code of word w, and scratch[:3, t] as `carries` reads it.

    planes: int64 [7, words]. codes: int32 [words]. scratch: int32 [6, tiles].
    """
    tile = tl.program_id(0)
    lanes: tl.constexpr = TILE // 64
    lane = tl.arange(0, lanes)
    word = tile * lanes + lane
    _, number, newline, plain, _, _, _, lead = groups_at(planes, words, word)
    zero = lane & 0
    # Up to the states of digits, which differ from state 0 for digits only.
    function = _after(planes, words, word, zero, PATTERN) * ANY_STATE
    for state in tl.static_range(1, STATES):
        after = _after(planes, words, word, zero + state, PATTERN)
        function = (function & ~(7 << (3 * state))) | (after << (3 * state))
    if GROUPS:
        function = _with_digits(function, number, lead, STATES)
    newline_ahead = first_beyond(plain, newline)
    code = function | newline_ahead << 24
    tl.store(scratch + NEWLINE_AHEAD * tiles + tile, first_of_tile(newline_ahead, lane, lanes))
    if (PATTERN == "o200k") | (PATTERN == "tekken"):
        in_word, upper, _, _ = letters_and_marks_at(planes, words, word)
        word_ahead = first_beyond(upper, in_word)
        code |= word_ahead << 26
        tl.store(scratch + WORD_AHEAD * tiles + tile, first_of_tile(word_ahead, lane, lanes))
    tl.store(codes + word, code)
    function = at_last(tl.associative_scan(function, 0, compose), lanes)
    tl.store(scratch + FUNCTION * tiles + tile, function)


@triton.jit(do_not_specialize=["count", "words", "tiles"])
def starts_kernel(
    planes,
    codes,
    scratch,
    start_bits,
    count,
    words,
    tiles,
    PATTERN: tl.constexpr,
    GROUPS: tl.constexpr,
    STATES: tl.constexpr,
    TILE: tl.constexpr,
):
    """start_bits[w]: bit p is 1 where byte 64 * w + p begins a pre-token or is a separator.

    planes: int64 [7, words]. codes: int32 [words]. scratch: int32 [6, tiles].
    start_bits: int64 [words], written; bits after the text are 0.
    """
    tile = tl.program_id(0)
    lanes: tl.constexpr = TILE // 64
    lane = tl.arange(0, lanes)
    word = tile * lanes + lane
    if PATTERN == "gpt2":
        starts = gpt2_starts(planes, words, word)
    else:
        carry = scratch + CARRIES * tiles + tile
        function = tl.load(codes + word - 1, mask=lane > 0, other=0) & ALL_STATES
        function = tl.where(lane == 0, tl.load(carry) * ANY_STATE, function)
        state = tl.associative_scan(function, 0, compose) & 7
        code = tl.load(codes + word + 1, mask=lane < lanes - 1, other=0)
        newline_ahead = answer_after((code >> 24) & 3, tl.load(carry + NEWLINE_AHEAD * tiles), lane, lanes)
        if (PATTERN == "o200k") | (PATTERN == "tekken"):
            word_ahead = answer_after((code >> 26) & 3, tl.load(carry + WORD_AHEAD * tiles), lane, lanes)
            starts = o200k_starts(planes, words, word, state, newline_ahead, word_ahead, PATTERN == "o200k")
        elif PATTERN == "deepseek_v3":
            starts = deepseek_starts(planes, words, word, state, newline_ahead)
        else:
            starts = cl100k_starts(planes, words, word, state, newline_ahead, GROUPS)
    _, _, _, _, _, _, separator, _ = groups_at(planes, words, word)
    _, _, _, _, _, _, separator_1, _ = groups_at(planes, words, word - 1)
    starts = (starts | separator | from_before(separator, separator_1, 1)) & ~bytes_after_text(word, count)
    tl.store(start_bits + word, starts.to(tl.int64, bitcast=True))


def variants() -> list[Variant]:
    """The variants that `launcher.start_bits` compiles."""
    types = dict.fromkeys(("planes", "start_bits"), "*i64") | dict.fromkeys(("codes", "scratch"), "*i32")
    types |= dict.fromkeys(("count", "words", "tiles"), "i32")
    found = []
    for pattern in PATTERNS:
        kernels = [starts_kernel]
        if pattern != "gpt2":
            kernels.insert(0, summary_kernel)
        found += [Variant(kernel, types, constants(pattern, MASK_TILE), warps_of(MASK_TILE)) for kernel in kernels]
    return found
