"""The starts of pre-tokens of a whole text, from its bytes: tiles that are ASCII by masks, the others byte by byte.

Which is which is decided on the device. Either kind leaves the same summary of a tile behind, and one scan over all
summaries says what each tile finds at its ends; so where one kind stands beside the other changes no result.
"""

from __future__ import annotations

from typing import Any

import torch

from ..classify.kernel import classify_kernel
from ..classify.masks import PLANES, masks, words_of
from ..limits import MASK_TILE, PATTERNS, byte_warps_of, tiles_of, warps_of
from .bits import bit_summary_kernel, bits_kernel, constants
from .kernel import CARRY_CHUNK, ROWS, boundaries_kernel, carry_kernel, summary_kernel, warps_of_kernel


def scratch_size(count: int, tile: int = MASK_TILE) -> int:
    """Elements, int64, of the scratch that `start_bits` needs for `count` bytes."""
    return sum(_sizes(count, tile))


def _sizes(count: int, tile: int) -> list[int]:
    # Planes, codes, which tiles are not ASCII, and the rows of `kernel`. Triton compiles a kernel anew for pointers
    # that are no multiples of 16 bytes.
    words, tiles = words_of(count, tile), tiles_of(count, tile)
    return [-(-size // 2) * 2 for size in (PLANES * words, -(-words // 2), -(-tiles // 2), ROWS * tiles)]


def start_bits(
    text_words: torch.Tensor,
    count: int,
    pages: torch.Tensor,
    cells: torch.Tensor,
    pattern: str,
    classes: torch.Tensor,
    bits: torch.Tensor,
    scratch: torch.Tensor,
    tile: int = MASK_TILE,
) -> None:
    """Write where pre-tokens begin; all on one device.

    text_words: int64 [ceil(count / 8) or more], `count` <= MAX_BYTES bytes of valid UTF-8 with a byte 0xFF behind each
        document. What is behind them changes no result.
    pages, cells: int16 and uint8, those of a `KindTable`; ASCII is what `mask_table` says.
    pattern: one of PATTERNS.
    classes: uint8 [count], of any content; written where a tile that is not ASCII may look at it.
    bits: int64 [words_of(count, tile)]; bit p % 64 of word p // 64 becomes 1 where byte p begins a pre-token or is a
        separator, all others 0.
    scratch: int64 [scratch_size(count, tile) or more], of any content.
    tile: a power of two from 64 to 65,536; changes no result.

    Raises ValueError for an unknown pattern.
    """
    if pattern not in PATTERNS:
        raise ValueError(f"the kernels know no split pattern {pattern!r}")
    if tile < 64:
        raise ValueError(f"a tile of {tile} bytes is less than a word of 64")
    tiles = tiles_of(count, tile)
    if not tiles:
        return
    words = words_of(count, tile)
    text = text_words.view(torch.uint8)[:count]
    planes, codes, byte_tiles, rows = scratch[: scratch_size(count, tile)].split(_sizes(count, tile))
    codes, byte_tiles, rows = codes.view(torch.int32), byte_tiles.view(torch.int32), rows.view(torch.int32)
    ascii_tiles = {**constants(pattern, tile), "num_warps": warps_of(tile)}
    other_tiles: dict[str, Any] = {"CHOSEN": True, "TILE": tile, "num_warps": byte_warps_of(tile)}

    grid = (tiles,)
    masks(text_words, count, pattern, planes, byte_tiles, tile)
    classify_kernel[grid](text, pages, cells, classes, byte_tiles, count, tiles, **other_tiles)
    other_tiles["PATTERN"] = pattern
    if pattern != "gpt2":
        bit_summary_kernel[grid](planes, byte_tiles, codes, rows, words, tiles, **ascii_tiles)
        summary_kernel[grid](text, classes, byte_tiles, rows, count, tiles, **other_tiles)
        carry_kernel[(ROWS if pattern in ("o200k", "tekken") else ROWS - 1,)](rows, tiles, CHUNK=CARRY_CHUNK)
    bits_kernel[grid](planes, byte_tiles, codes, rows, bits, count, words, tiles, **ascii_tiles)
    other_tiles["num_warps"] = warps_of_kernel(boundaries_kernel, pattern, tile)
    boundaries_kernel[grid](text, classes, byte_tiles, rows, bits.view(torch.int32), count, tiles, **other_tiles)
