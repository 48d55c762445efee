"""Rows of ids as a padded table, and its attention mask.

Limits: tables of fewer than 2**31 tiles.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.variant import Variant

PAD_TILE = 1024


@triton.jit(do_not_specialize=["tiles", "width", "pad_id"])
def _pad_kernel(ids, row_offsets, padded, mask, tiles, width, pad_id, LEFT: tl.constexpr, TILE: tl.constexpr):
    # One dimension of programs: the other dimensions end at 65,535.
    row = (tl.program_id(0) // tiles).to(tl.int64)
    column = (tl.program_id(0) % tiles) * TILE + tl.arange(0, TILE)
    live = column < width
    begin = tl.load(row_offsets + row)
    length = tl.load(row_offsets + row + 1) - begin
    place = column - (width - length) if LEFT else column + tl.full([TILE], 0, tl.int64)
    inside = live & (place >= 0) & (place < length)
    token = tl.load(ids + begin + place, mask=inside, other=0)
    tl.store(padded + row * width + column, tl.where(inside, token, pad_id), mask=live)
    tl.store(mask + row * width + column, inside.to(tl.int32), mask=live)


def pad(
    ids: torch.Tensor, row_offsets: torch.Tensor, width: int, pad_id: int, *, left: bool = False, tile: int = PAD_TILE
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows as a table, int32 [rows, width], and its attention mask, int32 [rows, width]: 1 where there is an id.

    A longer row keeps its first `width` ids, or its last ones with `left`.
    """
    rows = len(row_offsets) - 1
    padded = torch.empty((rows, width), dtype=torch.int32, device=ids.device)
    mask = torch.empty_like(padded)
    if rows and width:
        tiles = triton.cdiv(width, tile)
        _pad_kernel[(rows * tiles,)](ids, row_offsets, padded, mask, tiles, width, pad_id, left, tile)
    return padded, mask


def variants() -> list[Variant]:
    """What `pad` compiles with its usual tile."""
    types = {**dict.fromkeys(("ids", "padded", "mask"), "*i32"), "row_offsets": "*i64"}
    types |= dict.fromkeys(("tiles", "width", "pad_id"), "i32")
    return [Variant(_pad_kernel, types, {"LEFT": left, "TILE": PAD_TILE}) for left in (False, True)]
