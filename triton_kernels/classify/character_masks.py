r"""Class bytes to masks, 64 bytes a lane.

Seven planes. The first four are the bits of the kind, on all bytes of a character; the fifth marks first bytes and
separators. The last two hold what else a pattern needs:

    gpt2, qwen2, cl100k   apostrophes of contractions: of two bytes, and of three bytes, with the apostrophe
    o200k                 the same, and slashes in both
    tekken                slashes in both
    deepseek_v3           CJK, on all bytes of a character; ASCII
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.limits import MASK_TILE, PATTERNS, tiles_of, warps_of, words_of
from ..common.variant import Variant
from .bit_planes import bit_planes
from .contractions import contractions, from_after_by
from .text_words import bytes_after_text, load_words

PLANES = 7


@triton.jit
def _with_continuations(mask, of_spanning, bit, low, first, second, third):
    """Extends a mask of first bytes to all bytes of their characters.

    of_spanning: the class of the character that began before the word; low: its bytes. first, second, third:
    continuation bytes from the first, the second and the third of a character on.
    """
    spanning = low & (~((of_spanning >> bit) & 1) + 1)
    return mask | ((mask << 1) & first) | ((mask << 2) & second) | ((mask << 3) & third) | spanning


@triton.jit(do_not_specialize=["count", "words"])
def character_masks_kernel(text_words, class_words, planes, count, words, PATTERN: tl.constexpr, TILE: tl.constexpr):
    """planes[k, w]: plane k of the 64 bytes of word w.

    text_words, class_words: int64 [ceil(count / 8) or more]. planes: int64 [7, words], written.
    """
    lanes: tl.constexpr = TILE // 64
    word = tl.program_id(0) * lanes + tl.arange(0, lanes)
    index = word * 8
    c0, c1 = load_words(class_words, index, count), load_words(class_words, index + 1, count)
    c2, c3 = load_words(class_words, index + 2, count), load_words(class_words, index + 3, count)
    c4, c5 = load_words(class_words, index + 4, count), load_words(class_words, index + 5, count)
    c6, c7 = load_words(class_words, index + 6, count), load_words(class_words, index + 7, count)
    k0, k1, k2, k3, cjk, _, _, lead = bit_planes(c0, c1, c2, c3, c4, c5, c6, c7)
    separator = bytes_after_text(word, count)
    lead |= separator
    continuation = ~lead
    second = continuation & (continuation << 1)
    third = second & (continuation << 2)
    low = continuation & ~(continuation + 1)
    # The class of the last character that begins before the word: its first byte is one of the three before.
    before = load_words(class_words, index - 1, count)
    spanning = tl.where((before >> 47) & 1 != 0, before >> 40, 0)
    spanning = tl.where((before >> 55) & 1 != 0, before >> 48, spanning)
    spanning = tl.where(before >> 63 != 0, before >> 56, spanning)
    inside = ~separator
    k0 = _with_continuations(k0, spanning, 0, low, continuation, second, third) & inside
    k1 = _with_continuations(k1, spanning, 1, low, continuation, second, third) | separator
    k2 = _with_continuations(k2, spanning, 2, low, continuation, second, third) & inside
    k3 = _with_continuations(k3, spanning, 3, low, continuation, second, third) | separator
    tl.store(planes + word, k0.to(tl.int64, bitcast=True))
    tl.store(planes + words + word, k1.to(tl.int64, bitcast=True))
    tl.store(planes + 2 * words + word, k2.to(tl.int64, bitcast=True))
    tl.store(planes + 3 * words + word, k3.to(tl.int64, bitcast=True))
    tl.store(planes + 4 * words + word, lead.to(tl.int64, bitcast=True))

    w0, w1 = load_words(text_words, index, count), load_words(text_words, index + 1, count)
    w2, w3 = load_words(text_words, index + 2, count), load_words(text_words, index + 3, count)
    w4, w5 = load_words(text_words, index + 4, count), load_words(text_words, index + 5, count)
    w6, w7 = load_words(text_words, index + 6, count), load_words(text_words, index + 7, count)
    b0, b1, b2, b3, b4, b5, b6, b7 = bit_planes(w0, w1, w2, w3, w4, w5, w6, w7)
    ascii = ~b7 & inside
    if PATTERN == "deepseek_v3":
        cjk = _with_continuations(cjk, spanning, 4, low, continuation, second, third) & inside
        tl.store(planes + 5 * words + word, cjk.to(tl.int64, bitcast=True))
        tl.store(planes + 6 * words + word, ascii.to(tl.int64, bitcast=True))
    else:
        column_2 = ascii & b5 & ~b6 & ~b4 & b2 & b1 & b0
        of_two = column_2 & b3  # slashes
        of_three = of_two
        if PATTERN != "tekken":
            small = ascii & b6
            if PATTERN == "gpt2":
                small &= b5
            next_word = load_words(text_words, index + 8, count)
            apostrophe = column_2 & ~b3
            two, three = contractions(apostrophe, b0, b1, b2, b3, b4, small, next_word, PATTERN != "gpt2")
            if PATTERN != "gpt2":
                # U+017F, which counts as an s: the bytes 0xC5 and 0xBF.
                first = b7 & b6 & ~b5 & ~b4 & ~b3 & b2 & ~b1 & b0 & inside
                second_byte = b7 & ~b6 & b5 & b4 & b3 & b2 & b1 & b0 & inside
                one_after, two_after = (next_word & 0xFF).to(tl.int32), ((next_word >> 8) & 0xFF).to(tl.int32)
                next_second = (one_after == 0xBF).to(tl.int32) | (two_after == 0xBF).to(tl.int32) << 1
                three |= (
                    apostrophe & from_after_by(first, one_after == 0xC5, 1) & from_after_by(second_byte, next_second, 2)
                )
            if PATTERN == "o200k":
                of_two, of_three = of_two | two, of_three | three
            else:
                of_two, of_three = two, three
        tl.store(planes + 5 * words + word, of_two.to(tl.int64, bitcast=True))
        tl.store(planes + 6 * words + word, of_three.to(tl.int64, bitcast=True))


def variants() -> list[Variant]:
    """The variants that `character_masks` compiles."""
    types = dict.fromkeys(("text_words", "class_words", "planes"), "*i64") | {"count": "i32", "words": "i32"}
    kernel, warps = character_masks_kernel, warps_of(MASK_TILE)
    return [Variant(kernel, types, {"PATTERN": pattern, "TILE": MASK_TILE}, warps) for pattern in PATTERNS]


def character_masks(
    text_words: torch.Tensor,
    count: int,
    pattern: str,
    class_words: torch.Tensor,
    planes: torch.Tensor,
    tile: int = MASK_TILE,
) -> None:
    """Write the planes of a text for a split pattern; all on one device.

    text_words, class_words: int64 [ceil(count / 8) or more], the text and what `kernel.classify` makes of it.
    planes: int64 [7, words_of(count, tile)].
    tile: a power of two from 64 to 65,536.
    """
    tiles = tiles_of(count, tile)
    if tiles:
        words = words_of(count, tile)
        character_masks_kernel[(tiles,)](
            text_words, class_words, planes, count, words, PATTERN=pattern, TILE=tile, num_warps=warps_of(tile)
        )
