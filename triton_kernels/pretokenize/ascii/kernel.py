"""Planes of classes to start bits, 64 bytes a lane, in the tiles that `classify.masks` found to be ASCII.

First a summary of each tile, then a scan over the summaries (`pretokenize.carries`), then the starts. The other tiles
(`pretokenize.utf8`) have summaries in the same form, so both kinds may stand side by side. A word of 64 bytes is
summarized in one code:

    bits 0 and 1   the carried bit after the word if the one before it is 0, and if it is 1
    bits 2 to 4    the phase after it (`phase_after`)
    bits 5 and 6   the first character that is not plain white space: 1 a newline, 0 another, 2 there is none
"""

from __future__ import annotations

import functools
from typing import Any

import triton
import triton.language as tl

from ...classify.masks import bytes_after_text
from ...common.limits import MASK_TILE, PATTERNS
from ...common.variant import Variant
from .. import machines
from ..bit_masks import from_before, kinds_at, phase_after
from ..carries import CARRIES, FUNCTION, NEWLINE_AHEAD, WORD_AHEAD
from ..scans import answer_after, at_last, first_beyond, first_of_tile, greater
from .cl100k import cl100k_after, cl100k_starts
from .deepseek import deepseek_after, deepseek_starts
from .gpt2 import gpt2_starts
from .o200k import asks_without_state, o200k_after, o200k_starts

GOES_THROUGH = tl.constexpr(4)
ANY_STATE = tl.constexpr(0o11111111)


@functools.cache
def constants(pattern: str, tile: int) -> dict[str, Any]:
    """Compile-time constants of a pattern; callers must not change them.

    PHASE: the state after n digits of a group is PHASE + n; after none it is 0. GROUPS: whether there are groups.
    CARRIED: octal digit s is 1 where the carried bit is 1 in state s. ALL_DIGITS: the function of a tile of digits.
    """
    machine: Any = machines.Cl100k
    carried: tuple[int, ...] = (machines.Cl100k.AFTER_OTHER,)
    if pattern in ("o200k", "tekken"):
        machine, carried = machines.O200k, (machines.O200k.TRAILING, machines.O200k.SUFFIX)
    elif pattern == "deepseek_v3":
        machine, carried = machines.Deepseek, (machines.Deepseek.AFTER_PUNCTUATION, machines.Deepseek.PREFIXED)
    function = machines.IDENTITY
    for _ in range(3 + tile % 3):
        states = (machine.DIGIT >> 3 * (function >> 3 * state & 7) & 7 for state in range(machines.STATES))
        function = sum(after << 3 * state for state, after in enumerate(states))
    return {
        "PATTERN": pattern,
        "GROUPS": pattern in ("cl100k", "o200k", "deepseek_v3"),
        "PHASE": machine.ONE_DIGIT - 1,
        "CARRIED": sum(1 << 3 * state for state in carried),
        "ALL_DIGITS": function,
        "TILE": tile,
    }


@triton.jit
def _compose_3(first, second):
    """`first`, then `second`: three functions of a bit each.

    Bits i and i + 3 are the results of function i for 0 and for 1.
    """
    for_zero, for_one = (second & 7) * 9, (second >> 3) * 9
    return (for_one & first) | (for_zero & ~first)


@triton.jit
def _compose_1(first, second):
    """The same for one function, whose results are bits 0 and 1."""
    for_zero, for_one = (second & 1) * 3, (second >> 1) * 3
    return (for_one & first) | (for_zero & ~first)


@triton.jit
def _after_words(planes, words, word, carry, PATTERN: tl.constexpr):
    if (PATTERN == "o200k") | (PATTERN == "tekken"):
        bit, state = o200k_after(planes, words, word, carry, PATTERN == "o200k")
    elif PATTERN == "deepseek_v3":
        bit, state = deepseek_after(planes, words, word, carry)
    else:
        bit, state = cl100k_after(planes, words, word, carry)
    return bit.to(tl.int32), state.to(tl.int32)


@triton.jit(do_not_specialize=["words", "tiles"])
def ascii_summary_kernel(
    planes,
    other_tiles,
    codes,
    scratch,
    words,
    tiles,
    PATTERN: tl.constexpr,
    GROUPS: tl.constexpr,
    PHASE: tl.constexpr,
    CARRIED: tl.constexpr,
    ALL_DIGITS: tl.constexpr,
    TILE: tl.constexpr,
):
    """codes[w] = the code of word w, and scratch[:3, t] as `carries` reads it, in tiles that are ASCII.

    planes: int64 [5, words]. other_tiles: int32 [tiles]. codes: int32 [words]. scratch: int32 [6, tiles].
    """
    tile = tl.program_id(0)
    if tl.load(other_tiles + tile) != 0:
        return
    lanes: tl.constexpr = TILE // 64
    lane = tl.arange(0, lanes)
    word = tile * lanes + lane
    letter, capital, digit, newline, plain, _, _, _ = kinds_at(planes, words, word)
    zero = letter & 0
    bit_0, state_0 = _after_words(planes, words, word, zero, PATTERN)
    bit_1, state_1 = _after_words(planes, words, word, zero + 1, PATTERN)
    newline_ahead = first_beyond(plain, newline)
    code = bit_0 | bit_1 << 1 | newline_ahead << 5
    function = tl.where(lane == lanes - 1, state_0 | state_1 << 3, (bit_0 | bit_1 << 3) * 7)
    function = at_last(tl.associative_scan(function, 0, _compose_3), lanes)
    carried = tl.full((), CARRIED, tl.int32)
    if (PATTERN == "o200k") | (PATTERN == "tekken"):
        without_state = asks_without_state(planes, words, word, PATTERN == "o200k").to(tl.int32)
        carried |= tl.sum(tl.where(lane == 0, without_state, 0), 0)
    # The states after the tile for states with a carried bit of 0 and of 1.
    for_zero, for_one = function & 7, function >> 3
    function = (for_zero * ANY_STATE) ^ ((for_zero ^ for_one) * carried)
    if GROUPS:
        _, _, digit_1, _, _, _, _, _ = kinds_at(planes, words, word - 1)
        phase = phase_after(digit, digit_1)
        code |= phase << 2
        # After the last word whose phase does not depend on the one before it, each word of digits adds one.
        latest = tl.max(tl.where(phase == GOES_THROUGH, -1, 4 * lane + phase), 0)
        phase = ((latest & 3) + lanes - 1 - (latest >> 2)) % 3
        in_group = tl.where(phase == 0, 0, PHASE + phase) * ANY_STATE
        in_group = tl.where(latest < 0, ALL_DIGITS, in_group)
        ends_in_digit = at_last((digit >> 63).to(tl.int32), lanes) != 0
        function = tl.where(ends_in_digit, in_group, function)
    tl.store(codes + word, code)
    tl.store(scratch + FUNCTION * tiles + tile, function)
    tl.store(scratch + NEWLINE_AHEAD * tiles + tile, first_of_tile(newline_ahead, lane, lanes))
    if (PATTERN == "o200k") | (PATTERN == "tekken"):
        word_ahead = first_of_tile(first_beyond(capital, letter), lane, lanes)
        tl.store(scratch + WORD_AHEAD * tiles + tile, word_ahead)


@triton.jit(do_not_specialize=["count", "words", "tiles"])
def ascii_starts_kernel(
    planes,
    other_tiles,
    codes,
    scratch,
    start_bits,
    count,
    words,
    tiles,
    PATTERN: tl.constexpr,
    GROUPS: tl.constexpr,
    PHASE: tl.constexpr,
    CARRIED: tl.constexpr,
    ALL_DIGITS: tl.constexpr,
    TILE: tl.constexpr,
):
    """start_bits[w]: bit p is 1 where byte 64 * w + p begins a pre-token or is a separator, in tiles that are ASCII.

    planes: int64 [5, words]. other_tiles: int32 [tiles]. codes: int32 [words]. scratch: int32 [6, tiles].
    start_bits: int64 [words], written; bits after the text are 0.
    """
    tile = tl.program_id(0)
    if tl.load(other_tiles + tile) != 0:
        return
    lanes: tl.constexpr = TILE // 64
    lane = tl.arange(0, lanes)
    word = tile * lanes + lane
    if PATTERN == "gpt2":
        starts = gpt2_starts(planes, words, word)
    else:
        # What is carried into lane 0, and what is ahead of the last lane, come from the tile's summary.
        state = tl.load(scratch + CARRIES * tiles + tile)
        code = tl.load(codes + word - 1, mask=lane > 0, other=0)
        carried = tl.full((), CARRIED, tl.int32)
        if (PATTERN == "o200k") | (PATTERN == "tekken"):
            without_state = asks_without_state(planes, words, word, PATTERN == "o200k").to(tl.int32)
            carried = carried | without_state
        function = tl.where(lane == 0, ((carried >> (3 * state)) & 1) * 3, code & 3)
        carry = (tl.associative_scan(function, 0, _compose_1) & 1).to(tl.uint64)
        if GROUPS:
            phase = tl.where(lane == 0, tl.maximum(state - PHASE, 0), (code >> 2) & 7)
            latest = tl.where(phase == GOES_THROUGH, -1, 4 * lane + phase)
            latest = tl.associative_scan(latest, 0, greater)
            phase = ((latest & 3) + lane - (latest >> 2)) % 3
        else:
            phase = lane
        code = tl.load(codes + word + 1, mask=lane < lanes - 1, other=0)
        of_tile = tl.load(scratch + (CARRIES + NEWLINE_AHEAD) * tiles + tile)
        ahead = answer_after(code >> 5, of_tile, lane, lanes)
        if (PATTERN == "o200k") | (PATTERN == "tekken"):
            starts = o200k_starts(planes, words, word, carry, phase, ahead, PATTERN == "o200k")
        elif PATTERN == "deepseek_v3":
            starts = deepseek_starts(planes, words, word, carry, phase, ahead)
        else:
            starts = cl100k_starts(planes, words, word, carry, phase, ahead, GROUPS)
    _, _, _, _, _, _, _, separator = kinds_at(planes, words, word)
    _, _, _, _, _, _, _, separator_1 = kinds_at(planes, words, word - 1)
    starts = (starts | separator | from_before(separator, separator_1, 1)) & ~bytes_after_text(word, count)
    tl.store(start_bits + word, starts.to(tl.int64, bitcast=True))


def variants() -> list[Variant]:
    """The variants that `launcher.start_bits` compiles for tiles that are ASCII."""
    types = dict.fromkeys(("planes", "start_bits"), "*i64") | dict.fromkeys(("other_tiles", "codes", "scratch"), "*i32")
    types |= dict.fromkeys(("count", "words", "tiles"), "i32")
    found = []
    for pattern in PATTERNS:
        kernels = [ascii_starts_kernel] if pattern == "gpt2" else [ascii_summary_kernel, ascii_starts_kernel]
        found += [Variant(kernel, types, constants(pattern, MASK_TILE), warps=1) for kernel in kernels]
    return found
