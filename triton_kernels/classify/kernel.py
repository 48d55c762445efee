"""UTF-8 bytes to character kinds, one lane a byte."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..device_kinds import DISTANCE_SHIFT, SEPARATOR, SEPARATOR_BYTE
from ..limits import MASK_TILE, TILE, byte_warps_of, tiles_of
from ..variant import Variant

LAST_CODE_POINT = tl.constexpr(0x10FFFF)


@triton.jit
def _byte_at(text, place, count):
    return tl.load(text + place, mask=(place >= 0) & (place < count), other=SEPARATOR_BYTE).to(tl.int32)


@triton.jit
def _is_continuation(byte):
    return (byte & 0xC0) == 0x80


@triton.jit(do_not_specialize=["count", "tiles"])
def classify_kernel(text, pages, cells, classes, chosen, count, tiles, CHOSEN: tl.constexpr, TILE: tl.constexpr):
    """classes[p] = kind of the character that byte p is of, and the distance from p to its first byte.

    text: uint8 [count]. pages: int16 [8704]. cells: uint8 [blocks * 128]. classes: uint8 [count], written.
    CHOSEN: only in tiles where `chosen`, int32 [tiles], is not 0, and in those beside them.
    A tile reads three bytes beyond each of its ends.
    """
    tile = tl.program_id(0)
    if CHOSEN:
        beside = tl.load(chosen + tile - 1, mask=tile > 0, other=0) | tl.load(
            chosen + tile + 1, mask=tile + 1 < tiles, other=0
        )
        if (tl.load(chosen + tile) | beside) == 0:
            return
    place = tile * TILE + tl.arange(0, TILE)
    byte = _byte_at(text, place, count)
    is_separator = byte == SEPARATOR_BYTE
    klass = tl.where(is_separator, SEPARATOR, tl.load(cells + (byte & 0x7F)).to(tl.int32))  # right for ASCII
    beyond_ascii = (byte >= 0x80) & (byte != SEPARATOR_BYTE)
    if tl.max(beyond_ascii.to(tl.int32), 0) > 0:
        one_before, two_before = _byte_at(text, place - 1, count), _byte_at(text, place - 2, count)
        distance = tl.where(_is_continuation(one_before), tl.where(_is_continuation(two_before), 3, 2), 1)
        distance = tl.where(_is_continuation(byte), distance, 0)
        lead = place - distance
        first = _byte_at(text, lead, count)
        second = _byte_at(text, lead + 1, count) & 63
        third = _byte_at(text, lead + 2, count) & 63
        fourth = _byte_at(text, lead + 3, count) & 63
        of_three = (first & 15) << 12 | second << 6 | third
        of_four = (first & 7) << 18 | second << 12 | third << 6 | fourth
        code_point = tl.where(first < 0xE0, (first & 31) << 6 | second, tl.where(first < 0xF0, of_three, of_four))
        code_point = tl.minimum(code_point, LAST_CODE_POINT)
        page = tl.load(pages + (code_point >> 7), mask=beyond_ascii, other=0).to(tl.int32)
        cell = tl.load(cells + (page << 7 | (code_point & 127)), mask=beyond_ascii, other=0).to(tl.int32)
        klass = tl.where(beyond_ascii, cell | distance << DISTANCE_SHIFT, klass)
    tl.store(classes + place, klass.to(tl.uint8), mask=place < count)


def variants() -> list[Variant]:
    """What `boundaries.tiles` compiles of these; `classify` compiles the same with CHOSEN=False."""
    types = {"text": "*u8", "pages": "*i16", "cells": "*u8", "classes": "*u8", "chosen": "*i32"}
    types |= dict.fromkeys(("count", "tiles"), "i32")
    return [Variant(classify_kernel, types, {"CHOSEN": True, "TILE": MASK_TILE}, warps=byte_warps_of(MASK_TILE))]


def classify(
    text: torch.Tensor, pages: torch.Tensor, cells: torch.Tensor, classes: torch.Tensor, tile: int = TILE
) -> None:
    """Write `classes` of `text`; all on one device, `naive.classify` says what they are.

    text: uint8 [n], n <= MAX_BYTES, valid UTF-8 with bytes 0xFF between characters. Other bytes give some class, and
        nothing outside of the arrays is touched.
    pages, cells: int16 and uint8, those of a `KindTable`.
    classes: uint8 [n].
    """
    tiles = tiles_of(len(text), tile)
    if tiles:
        classify_kernel[(tiles,)](text, pages, cells, classes, None, len(text), tiles, CHOSEN=False, TILE=tile)
