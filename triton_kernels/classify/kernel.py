"""UTF-8 bytes to character kinds, four bytes a lane."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ..common import character_kinds
from ..common.limits import MASK_TILE, tiles_of
from ..common.variant import Variant

LAST_CODE_POINT = tl.constexpr(0x10FFFF)
SEPARATOR = tl.constexpr(character_kinds.SEPARATOR)
SEPARATOR_BYTE = tl.constexpr(character_kinds.SEPARATOR_BYTE)
LEAD = tl.constexpr(character_kinds.LEAD)

# Smaller than those of masks: a lane has four bytes at a time.
TILE = MASK_TILE // 4


@triton.jit
def _class_of(window, pages, cells, wanted):
    """The class byte of the first of the four bytes of each window."""
    byte = window & 0xFF
    second, third = (window >> 8) & 63, (window >> 16) & 63
    of_three = (window & 15) << 12 | second << 6 | third
    of_four = (window & 7) << 18 | second << 12 | third << 6 | (window >> 24) & 63
    code_point = tl.where(byte < 0xF0, of_three, tl.minimum(of_four, LAST_CODE_POINT))
    code_point = tl.where(byte < 0xE0, (window & 31) << 6 | second, code_point)
    code_point = tl.where(byte < 0x80, byte, code_point)
    is_separator, is_lead = byte == SEPARATOR_BYTE, (byte & 0xC0) != 0x80
    wanted = wanted & is_lead & (is_separator == 0)
    page = tl.load(pages + (code_point >> 7), mask=wanted, other=0).to(tl.uint32)
    kind = tl.load(cells + (page << 7 | code_point & 127), mask=wanted, other=0).to(tl.uint32)
    return tl.where(is_lead, tl.where(is_separator, SEPARATOR, kind) | LEAD, 0)


@triton.jit(do_not_specialize=["count"])
def classify_kernel(text, pages, cells, classes, count, TILE: tl.constexpr):
    """The class bytes of the text, four at a time.

    text, classes: int32 [ceil(count / 4)], four bytes each. pages: int16 [8704]. cells: uint8 [blocks * 128].
    """
    index = tl.program_id(0) * (TILE // 4) + tl.arange(0, TILE // 4)
    within = index * 4 < count
    word = tl.load(text + index, mask=within, other=-1).to(tl.uint32, bitcast=True)
    after = tl.load(text + index + 1, mask=index * 4 + 4 < count, other=-1).to(tl.uint32, bitcast=True)
    result = _class_of(word, pages, cells, within)
    for byte in tl.static_range(1, 4):
        window = (word >> (8 * byte)) | (after << (32 - 8 * byte))
        result |= _class_of(window, pages, cells, within) << (8 * byte)
    tl.store(classes + index, result.to(tl.int32, bitcast=True), mask=within)


def variants() -> list[Variant]:
    """The variants that `classify` compiles."""
    types = {"text": "*i32", "classes": "*i32", "pages": "*i16", "cells": "*u8", "count": "i32"}
    return [Variant(classify_kernel, types, {"TILE": TILE})]


def classify(
    text_words: torch.Tensor,
    count: int,
    pages: torch.Tensor,
    cells: torch.Tensor,
    class_words: torch.Tensor,
    tile: int = TILE,
) -> None:
    """Write the class bytes of a text; all on one device.

    text_words: int64 [ceil(count / 8) or more], valid UTF-8 with bytes 0xFF between characters. Other bytes get some
        class, and nothing outside the arrays is touched.
    pages, cells: int16 and uint8, those of a `KindTable`.
    class_words: int64 [ceil(count / 8)]; its first `count` bytes become what `naive.classify` says.
    """
    tiles = tiles_of(count, tile)
    if tiles:
        text: Any = text_words.view(torch.int32)
        classes: Any = class_words.view(torch.int32)
        classify_kernel[(tiles,)](text, pages, cells, classes, count, TILE=tile)
