"""Character kinds to the starts of pre-tokens, one lane a byte.

Three launches: `summary_kernel` says of each tile what it does to the state and where runs that reach it from the left
end, `carry_kernel` turns that into what each tile finds at its ends, and `boundaries_kernel` writes the flags. GPT-2's
pattern looks at neighbours only and needs the last one alone.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ..device_kinds import DISTANCE_SHIFT, NEWLINE, SEPARATOR, UPPER
from ..limits import MASK_TILE, PATTERNS, TILE, byte_warps_of, tiles_of
from ..variant import Variant
from .characters import class_at, is_plain_space, is_word, kind_at
from .cl100k import cl100k_starts, cl100k_symbols
from .deepseek import deepseek_starts, deepseek_symbols
from .gpt2 import gpt2_starts
from .o200k import o200k_starts, o200k_symbols
from .scans import IDENTITY, UNDECIDED, at_last, compose, first_beyond, first_of_tile, greater, image

# Rows of the scratch, int32 [2 * ROWS, tiles]: summaries, then carries.
ROWS = 3
FUNCTION = tl.constexpr(0)
NEWLINE_AHEAD = tl.constexpr(1)
WORD_AHEAD = tl.constexpr(2)
CARRIES = tl.constexpr(ROWS)

CARRY_CHUNK = 1024


@triton.jit
def _symbols(text, classes, place, count, PATTERN: tl.constexpr):
    if PATTERN == "o200k":
        symbols = o200k_symbols(text, classes, place, count, True, True)
    elif PATTERN == "tekken":
        symbols = o200k_symbols(text, classes, place, count, False, False)
    elif PATTERN == "deepseek_v3":
        symbols = deepseek_symbols(text, classes, place, count)
    else:
        symbols = cl100k_symbols(classes, place, count, PATTERN == "cl100k")
    is_lead = class_at(classes, place, count) >> DISTANCE_SHIFT == 0
    return tl.where(is_lead, symbols, IDENTITY)


@triton.jit(do_not_specialize=["count", "tiles"])
def summary_kernel(
    text, classes, chosen, scratch, count, tiles, PATTERN: tl.constexpr, CHOSEN: tl.constexpr, TILE: tl.constexpr
):
    """scratch[:3, t]: the function of tile t, and the answers at the ends of the runs that reach it from the left.

    CHOSEN: only in tiles where `chosen`, int32 [tiles], is not 0.
    """
    tile = tl.program_id(0)
    if CHOSEN and tl.load(chosen + tile) == 0:
        return
    place = tile * TILE + tl.arange(0, TILE)
    functions = tl.associative_scan(_symbols(text, classes, place, count, PATTERN), 0, compose)
    tl.store(scratch + FUNCTION * tiles + tile, at_last(functions, TILE))
    kind = kind_at(classes, place, count)
    newline_ahead = first_of_tile(is_plain_space(kind), kind == NEWLINE, TILE)
    tl.store(scratch + NEWLINE_AHEAD * tiles + tile, newline_ahead)
    if (PATTERN == "o200k") | (PATTERN == "tekken"):
        tl.store(scratch + WORD_AHEAD * tiles + tile, first_of_tile(kind == UPPER, is_word(kind), TILE))


@triton.jit(do_not_specialize=["tiles"])
def carry_kernel(scratch, tiles, CHUNK: tl.constexpr):
    """scratch[3, t]: the state before tile t. scratch[4:, t]: the answers at the ends of the runs that leave tile t.

    One program a row: program 0 goes through the tiles forwards, the others backwards, CHUNK tiles at a time.
    """
    row = tl.program_id(0)
    summary, carry = scratch + row * tiles, scratch + (CARRIES + row) * tiles
    index = tl.arange(0, CHUNK)
    carried = tl.full((), 0, tl.int32)
    if row == 0:
        tl.store(carry, carried)
        for first in range(0, tiles, CHUNK):
            tile = first + index
            function = tl.load(summary + tile, mask=tile < tiles, other=IDENTITY)
            state = image(tl.associative_scan(function, 0, compose), carried)
            tl.store(carry + tile + 1, state, mask=tile + 1 < tiles)
            carried = at_last(state, CHUNK)
    else:
        tl.store(carry + tiles - 1, carried)
        for first in range(0, tiles, CHUNK):
            tile = tiles - 1 - first - index
            answer = tl.load(summary + tile, mask=tile >= 0, other=UNDECIDED)
            latest = tl.associative_scan(tl.where(answer == UNDECIDED, -1, 2 * index + answer), 0, greater)
            answer = tl.where(latest < 0, carried, latest & 1)
            tl.store(carry + tile - 1, answer, mask=tile >= 1)
            carried = at_last(answer, CHUNK)


@triton.jit
def _states_before(text, classes, place, count, state, PATTERN: tl.constexpr, TILE: tl.constexpr):
    # Of the bytes before each one in the tile; nothing comes before the first.
    symbols = _symbols(text, classes, place - 1, count, PATTERN)
    symbols = tl.where(tl.arange(0, TILE) == 0, IDENTITY, symbols)
    return image(tl.associative_scan(symbols, 0, compose), state)


@triton.jit(do_not_specialize=["count", "tiles"])
def boundaries_kernel(
    text,
    classes,
    chosen,
    scratch,
    starts,
    count,
    tiles,
    PATTERN: tl.constexpr,
    CHOSEN: tl.constexpr,
    TILE: tl.constexpr,
):
    """starts[p] = 1 where byte p begins a pre-token or is a separator, else 0.

    text, classes: uint8 [count]. scratch: int32 [6, tiles]. starts: uint8 [count], written.
    CHOSEN: only in tiles where `chosen`, int32 [tiles], is not 0, and as bits: starts is int32 [tiles * TILE / 32], and
    bit p % 32 of element p // 32 is that of byte p.
    A tile reads four bytes before it, and four bytes behind it.
    """
    tile = tl.program_id(0)
    if CHOSEN and tl.load(chosen + tile) == 0:
        return
    place = tile * TILE + tl.arange(0, TILE)
    if PATTERN == "gpt2":
        flags = gpt2_starts(text, classes, place, count)
    else:
        kind = kind_at(classes, place, count)
        carry = scratch + CARRIES * tiles + tile
        state = _states_before(text, classes, place, count, tl.load(carry), PATTERN, TILE)
        newline_ahead = tl.load(carry + NEWLINE_AHEAD * tiles)
        newline_ahead = first_beyond(is_plain_space(kind), kind == NEWLINE, newline_ahead, TILE)
        if (PATTERN == "o200k") | (PATTERN == "tekken"):
            word_ahead = tl.load(carry + WORD_AHEAD * tiles)
            word_ahead = first_beyond(kind == UPPER, is_word(kind), word_ahead, TILE)
            flags = o200k_starts(text, classes, place, count, state, newline_ahead, word_ahead, PATTERN == "o200k")
        elif PATTERN == "deepseek_v3":
            flags = deepseek_starts(text, classes, place, count, state, newline_ahead)
        else:
            flags = cl100k_starts(text, classes, place, count, state, newline_ahead)
    is_separator = kind_at(classes, place, count) == SEPARATOR
    behind_separator = kind_at(classes, place - 1, count) == SEPARATOR
    is_lead = class_at(classes, place, count) >> DISTANCE_SHIFT == 0
    flags = (flags | is_separator | behind_separator) & is_lead
    if CHOSEN:
        # Words of 32 bits: those of 64 take registers that are not there.
        bits = tl.reshape((flags & (place < count)).to(tl.int32) << (place & 31), (TILE // 32, 32))
        tl.store(starts + tile * (TILE // 32) + tl.arange(0, TILE // 32), tl.sum(bits, 1))
    else:
        tl.store(starts + place, flags.to(tl.uint8), mask=place < count)


def warps_of_kernel(kernel: Any, pattern: str, tile: int) -> int:
    """Warps of a program for tiles that are not ASCII; for sm_80 o200k's starts spill with less."""
    return byte_warps_of(tile) * (2 if kernel is boundaries_kernel and pattern == "o200k" else 1)


def variants() -> list[Variant]:
    """What `tiles.start_bits` compiles of these; `boundaries` compiles the same with CHOSEN=False."""
    types = {"text": "*u8", "classes": "*u8", "chosen": "*i32", "scratch": "*i32", "starts": "*i32"}
    types |= dict.fromkeys(("count", "tiles"), "i32")
    found = [Variant(carry_kernel, types, {"CHUNK": CARRY_CHUNK})]
    for pattern in PATTERNS:
        constants = {"PATTERN": pattern, "CHOSEN": True, "TILE": MASK_TILE}
        kernels = [boundaries_kernel] if pattern == "gpt2" else [summary_kernel, boundaries_kernel]
        for kernel in kernels:
            found.append(Variant(kernel, types, constants, warps=warps_of_kernel(kernel, pattern, MASK_TILE)))
    return found


def scratch_size(count: int, tile: int = TILE) -> int:
    """Elements, int32, of the scratch that `boundaries` needs for `count` bytes."""
    return 2 * ROWS * tiles_of(count, tile)


def boundaries(
    text: torch.Tensor,
    classes: torch.Tensor,
    pattern: str,
    starts: torch.Tensor,
    scratch: torch.Tensor,
    tile: int = TILE,
) -> None:
    """Write `starts` of `text`; all on one device, `naive.boundaries` says what they are.

    text: uint8 [n], n <= MAX_BYTES, valid UTF-8 with a byte 0xFF behind each document.
    classes: uint8 [n], written by `classify`.
    pattern: one of PATTERNS.
    starts: uint8 [n].
    scratch: int32, `scratch_size(n, tile)` elements or more, of any content.

    Raises ValueError for an unknown pattern.
    """
    if pattern not in PATTERNS:
        raise ValueError(f"the kernels know no split pattern {pattern!r}")
    count, tiles = len(text), tiles_of(len(text), tile)
    if not tiles:
        return
    if pattern != "gpt2":
        summary_kernel[(tiles,)](
            text, classes, None, scratch, count, tiles, PATTERN=pattern, CHOSEN=False, TILE=tile
        )
        rows = ROWS if pattern in ("o200k", "tekken") else ROWS - 1
        carry_kernel[(rows,)](scratch, tiles, CHUNK=CARRY_CHUNK)
    boundaries_kernel[(tiles,)](
        text, classes, None, scratch, starts, count, tiles, PATTERN=pattern, CHOSEN=False, TILE=tile
    )
