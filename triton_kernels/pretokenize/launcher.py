"""The starts of pre-tokens of a whole text, from its bytes.

The kind of each character is looked up; the rest is done on masks. One scan over the summaries of all tiles gives each
tile what it needs at its ends.
"""

from __future__ import annotations

import torch

from ..classify.character_masks import PLANES, character_masks
from ..classify.kernel import classify
from ..common.limits import MASK_TILE, PATTERNS, tiles_of, warps_of, words_of
from .carries import CHUNK, ROWS, carry_kernel
from .kernel import constants, starts_kernel, summary_kernel


def scratch_size(count: int, tile: int = MASK_TILE) -> int:
    """Elements, int64, of the scratch that `start_bits` needs for `count` bytes."""
    return sum(_sizes(count, tile))


def _sizes(count: int, tile: int) -> list[int]:
    # Planes, codes, and the rows of `carries`. Triton compiles another kernel for pointers that are not multiples of 16
    # bytes.
    words, tiles = words_of(count, tile), tiles_of(count, tile)
    return [-(-size // 2) * 2 for size in (PLANES * words, -(-words // 2), ROWS * tiles)]


def start_bits(
    text_words: torch.Tensor,
    count: int,
    pages: torch.Tensor,
    cells: torch.Tensor,
    pattern: str,
    class_words: torch.Tensor,
    bits: torch.Tensor,
    scratch: torch.Tensor,
    tile: int = MASK_TILE,
) -> None:
    """Write where pre-tokens begin; all on one device.

    text_words: int64 [ceil(count / 8) or more], `count` <= MAX_BYTES bytes of valid UTF-8 with a byte 0xFF after each
        document. Bytes after them change no result.
    pages, cells: int16 and uint8, those of a `KindTable`.
    pattern: one of PATTERNS.
    class_words: int64 [ceil(count / 8)], of any content; written.
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
    planes, codes, rows = scratch[: scratch_size(count, tile)].split(_sizes(count, tile))
    codes, rows = codes.view(torch.int32), rows.view(torch.int32)
    of_pattern, grid, warps = constants(pattern, tile), (tiles,), warps_of(tile)

    classify(text_words, count, pages, cells, class_words, tile // 4)
    character_masks(text_words, count, pattern, class_words, planes, tile)
    if pattern != "gpt2":
        summary_kernel[grid](planes, codes, rows, words, tiles, **of_pattern, num_warps=warps)
        used_rows = ROWS if pattern in ("o200k", "tekken") else ROWS - 1
        carry_kernel[(used_rows,)](rows, tiles, CHUNK=CHUNK)
    starts_kernel[grid](planes, codes, rows, bits, count, words, tiles, **of_pattern, num_warps=warps)
