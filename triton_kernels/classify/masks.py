r"""Text to masks of classes, 64 bytes a lane, where it is ASCII; and which tiles are ASCII.

The classes are kept in five masks, called planes. A byte's bits in the first three make a number, its kind; among other
characters (those of `[^\s\p{L}\p{N}]`) its bits in the last two say what it is as well:

    planes 2 1 0                              planes 4 3
           0 0 0  other                              0 0  nothing
           0 0 1  lower-case letter                  0 1  apostrophe of a contraction of two characters
           0 1 1  upper-case letter                  1 0  apostrophe of a contraction of three characters
           0 1 0  digit                              1 1  slash, for o200k and Tekken
           1 0 0  newline                       For DeepSeek plane 3 has the controls; plane 4 is not used.
           1 1 0  other white space
           1 1 1  space (U+0020)
           1 0 1  separator, and bytes after the text
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.limits import MASK_TILE, PATTERNS, WORD, tiles_of, warps_of
from ..common.variant import Variant
from .bit_planes import bit_planes

PLANES = 5

LOW_BITS = tl.constexpr(0x0101010101010101)
LOW_SEVEN_BITS = tl.constexpr(0x7F7F7F7F7F7F7F7F)


@triton.jit
def load_words(text_words, index, count):
    """Eight bytes of the text at each index. Outside the text they are separators, except within its last word."""
    words = tl.load(text_words + index, mask=(index >= 0) & (index * 8 < count), other=-1)
    return words.to(tl.uint64, bitcast=True)


@triton.jit
def bytes_after_text(word, count):
    """The mask of those bytes of each word of 64 that are after the text."""
    left = tl.minimum(tl.maximum(count - word * 64, 0), 64).to(tl.uint64)
    # Shifted twice: a shift by 64 is undefined.
    return (~(left ^ left) << (left >> 1)) << (left - (left >> 1))


@triton.jit
def _beyond_ascii(word):
    """Whether any byte is neither ASCII nor a separator."""
    high = (word >> 7) & LOW_BITS
    is_separator = (((word & LOW_SEVEN_BITS) + LOW_BITS) & word) >> 7
    return (is_separator & LOW_BITS) != high


@triton.jit
def from_after_by(mask, next_bits, DISTANCE: tl.constexpr):
    """Where the byte `DISTANCE` positions later is in the mask; `next_bits`: the mask's first bits of the next word."""
    return (mask >> DISTANCE) | (next_bits.to(tl.uint64) << (64 - DISTANCE))


@triton.jit
def contractions(apostrophe, b0, b1, b2, b3, b4, small, next_word, IGNORE_CASE: tl.constexpr):
    """Apostrophes that the letters of a contraction follow: one letter, and two.

    b0 to b4: the lower five bits of bytes. small: letters, or lower-case letters. next_word: the next eight bytes.
    """
    zero_one = ~b4 & small
    one_zero = b4 & small
    s = one_zero & ~b3 & ~b2 & b1 & b0
    t = one_zero & ~b3 & b2 & ~b1 & ~b0
    r_or_v = one_zero & ~b3 & b1 & ~b0
    m = zero_one & b3 & b2 & ~b1 & b0
    d = zero_one & ~b3 & b2 & ~b1 & ~b0
    e = zero_one & ~b3 & b2 & ~b1 & b0
    ell = zero_one & b3 & b2 & ~b1 & ~b0
    first, second = (next_word & 0xFF).to(tl.int32), ((next_word >> 8) & 0xFF).to(tl.int32)
    if IGNORE_CASE:
        first, second = first | 0x20, second | 0x20
    one = (first == 0x73) | (first == 0x74) | (first == 0x6D) | (first == 0x64)
    next_rv, next_l = (first == 0x72) | (first == 0x76), first == 0x6C
    next_e = (first == 0x65).to(tl.int32) | (second == 0x65).to(tl.int32) << 1
    next_ll = next_l.to(tl.int32) | (second == 0x6C).to(tl.int32) << 1
    of_two = apostrophe & from_after_by(s | t | m | d, one, 1)
    of_three = from_after_by(r_or_v, next_rv, 1) & from_after_by(e, next_e, 2)
    of_three |= from_after_by(ell, next_l, 1) & from_after_by(ell, next_ll, 2)
    return of_two, apostrophe & of_three


@triton.jit(do_not_specialize=["count", "words"])
def masks_kernel(text_words, planes, other_tiles, count, words, PATTERN: tl.constexpr, TILE: tl.constexpr):
    """planes[k, w]: plane k of the 64 bytes of word w. other_tiles[t] = 1 where tile t is not ASCII, else 0.

    text_words: int64 [ceil(count / 8) or more], the text. planes: int64 [5, words]. other_tiles: int32 [tiles].
    A tile is not ASCII if it has a byte that is neither ASCII nor a separator, in itself or within eight bytes of it;
    the planes of such bytes may be anything.
    """
    tile = tl.program_id(0)
    lanes: tl.constexpr = TILE // 64
    word = tile * lanes + tl.arange(0, lanes)
    index = word * 8
    w0, w1 = load_words(text_words, index, count), load_words(text_words, index + 1, count)
    w2, w3 = load_words(text_words, index + 2, count), load_words(text_words, index + 3, count)
    w4, w5 = load_words(text_words, index + 4, count), load_words(text_words, index + 5, count)
    w6, w7 = load_words(text_words, index + 6, count), load_words(text_words, index + 7, count)
    next_word = load_words(text_words, index + 8, count)
    b0, b1, b2, b3, b4, b5, b6, b7 = bit_planes(w0, w1, w2, w3, w4, w5, w6, w7)

    after_text = bytes_after_text(word, count)
    beyond_ascii = b7 & ~(b0 & b1 & b2 & b3 & b4 & b5 & b6) & ~after_text
    before = load_words(text_words, tile * (TILE // 8) - 1, count)
    at_edges = _beyond_ascii(before) | (tl.max(_beyond_ascii(next_word).to(tl.int32), 0) > 0)
    is_other = (tl.max((beyond_ascii != 0).to(tl.int32), 0) > 0) | at_edges
    tl.store(other_tiles + tile, is_other.to(tl.int32))

    separator = b7 | after_text
    ascii = ~separator
    letter = b6 & (b4 | b3 | b2 | b1 | b0) & ~(b4 & b3 & (b2 | (b1 & b0))) & ascii
    capital = letter & ~b5
    column_2_and_3 = b5 & ~b6 & ascii
    digit = column_2_and_3 & b4 & ~(b3 & (b2 | b1))
    column_2 = column_2_and_3 & ~b4
    ascii_space = column_2 & ~(b3 | b2 | b1 | b0)
    column_0_low = ~(b6 | b5 | b4) & b3 & ascii
    newline = column_0_low & (b2 ^ b1) & (b1 ^ b0)  # 010 and 101
    plain = (column_0_low & (b2 | b1 | b0) & ~(b2 & b1) & ~newline) | ascii_space
    low_is_7 = b2 & b1 & b0
    tl.store(planes + word, (letter | ascii_space | separator).to(tl.int64, bitcast=True))
    tl.store(planes + words + word, (capital | digit | plain).to(tl.int64, bitcast=True))
    tl.store(planes + 2 * words + word, (newline | plain | separator).to(tl.int64, bitcast=True))
    if PATTERN == "deepseek_v3":
        control = ascii & ((~(b6 | b5) & ~(newline | plain)) | (b6 & b5 & b4 & b3 & low_is_7))
        tl.store(planes + 3 * words + word, control.to(tl.int64, bitcast=True))
    elif PATTERN == "tekken":
        slash = column_2 & b3 & low_is_7
        tl.store(planes + 3 * words + word, slash.to(tl.int64, bitcast=True))
        tl.store(planes + 4 * words + word, slash.to(tl.int64, bitcast=True))
    else:
        apostrophe = column_2 & ~b3 & low_is_7
        small = letter & b5 if PATTERN == "gpt2" else letter
        of_two, of_three = contractions(apostrophe, b0, b1, b2, b3, b4, small, next_word, PATTERN != "gpt2")
        if PATTERN == "o200k":
            slash = column_2 & b3 & low_is_7
            of_two, of_three = of_two | slash, of_three | slash
        tl.store(planes + 3 * words + word, of_two.to(tl.int64, bitcast=True))
        tl.store(planes + 4 * words + word, of_three.to(tl.int64, bitcast=True))


def variants() -> list[Variant]:
    """The variants that `masks` compiles."""
    types = {"text_words": "*i64", "planes": "*i64", "other_tiles": "*i32", "count": "i32", "words": "i32"}
    return [Variant(masks_kernel, types, {"PATTERN": pattern, "TILE": MASK_TILE}, warps=1) for pattern in PATTERNS]


def words_of(count: int, tile: int = MASK_TILE) -> int:
    """Words of a mask of `count` bytes, rounded up to whole tiles."""
    return tiles_of(count, tile) * (tile // WORD)


def masks(
    text_words: torch.Tensor,
    count: int,
    pattern: str,
    planes: torch.Tensor,
    other_tiles: torch.Tensor,
    tile: int = MASK_TILE,
) -> None:
    """Write the planes of a text for a split pattern, and which tiles are not ASCII; all on one device.

    text_words: int64 [ceil(count / 8) or more], the text as little-endian words.
    planes: int64 [5, words_of(count, tile)]; the last plane is not written for DeepSeek.
    other_tiles: int32 [tiles].
    tile: a power of two from 64 to 65,536.
    """
    tiles = tiles_of(count, tile)
    if tiles:
        words = words_of(count, tile)
        masks_kernel[(tiles,)](
            text_words, planes, other_tiles, count, words, PATTERN=pattern, TILE=tile, num_warps=warps_of(tile)
        )
