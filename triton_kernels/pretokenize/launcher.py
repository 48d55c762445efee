"""The starts of pre-tokens of a whole text, from its bytes.

ASCII tiles get their masks from the bytes; other tiles look up the kind of each character first. Which tile is which is
decided on the device. Both kinds leave the same summary of a tile, and one scan over all summaries gives each tile what
it needs at its ends. So tiles of both kinds may stand side by side.
"""

from __future__ import annotations

import torch

from ..classify.character_masks import CHARACTER_PLANES, character_masks
from ..classify.kernel import classify
from ..classify.masks import PLANES, masks, words_of
from ..common.limits import MASK_TILE, PATTERNS, tiles_of, warps_of
from .ascii import kernel as ascii_tiles
from .ascii.kernel import ascii_starts_kernel, ascii_summary_kernel
from .carries import CARRY_CHUNK, ROWS, carry_kernel
from .utf8 import kernel as utf8_tiles
from .utf8.kernel import utf8_starts_kernel, utf8_summary_kernel


def scratch_size(count: int, tile: int = MASK_TILE) -> int:
    """Elements, int64, of the scratch that `start_bits` needs for `count` bytes."""
    return sum(_sizes(count, tile))


def _sizes(count: int, tile: int) -> list[int]:
    # Planes of ASCII and of all characters, codes, which tiles are not ASCII, and the rows of `carries`. Triton
    # compiles another kernel for pointers that are not multiples of 16 bytes.
    words, tiles = words_of(count, tile), tiles_of(count, tile)
    sizes = (PLANES * words, CHARACTER_PLANES * words, -(-words // 2), -(-tiles // 2), ROWS * tiles)
    return [-(-size // 2) * 2 for size in sizes]


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
    class_words: int64 [ceil(count / 8)], of any content; written where a tile that is not ASCII may read it.
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
    ascii_planes, planes, codes, chosen, rows = scratch[: scratch_size(count, tile)].split(_sizes(count, tile))
    codes, chosen, rows = codes.view(torch.int32), chosen.view(torch.int32), rows.view(torch.int32)
    of_ascii, of_others = ascii_tiles.constants(pattern, tile), utf8_tiles.constants(pattern, tile)

    grid, warps = (tiles,), warps_of(tile)
    masks(text_words, count, pattern, ascii_planes, chosen, tile)
    classify(text_words, count, pages, cells, class_words, chosen, tile)
    character_masks(text_words, count, pattern, class_words, planes, chosen, tile)
    if pattern != "gpt2":
        ascii_summary_kernel[grid](ascii_planes, chosen, codes, rows, words, tiles, **of_ascii, num_warps=warps)
        utf8_summary_kernel[grid](planes, chosen, codes, rows, words, tiles, **of_others, num_warps=warps)
        carry_kernel[(ROWS if pattern in ("o200k", "tekken") else ROWS - 1,)](rows, tiles, CHUNK=CARRY_CHUNK)
    ascii_starts_kernel[grid](ascii_planes, chosen, codes, rows, bits, count, words, tiles, **of_ascii, num_warps=warps)
    utf8_starts_kernel[grid](planes, chosen, codes, rows, bits, count, words, tiles, **of_others, num_warps=warps)
