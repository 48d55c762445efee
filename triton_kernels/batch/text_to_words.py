"""From the text of a batch to the starts of its words: classes, masks, boundaries, compaction, on one stream."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..common.limits import MASK_TILE, words_of
from ..compact import kernel as compact
from ..pretokenize import launcher

# Triton compiles another kernel for pointers that are not multiples of 16 bytes.
_ALIGNMENT = 2


def scratch_size(count: int, tile: int = MASK_TILE) -> int:
    """Elements, int64, of the scratch that `word_starts_of` needs for `count` bytes: about 2.2 for each byte."""
    return sum(_sizes(count, tile))


def word_starts_of(
    text_words: torch.Tensor,
    count: int,
    pages: torch.Tensor,
    cells: torch.Tensor,
    pattern: str,
    word_starts: torch.Tensor,
    word_count: torch.Tensor,
    scratch: torch.Tensor,
    tile: int = MASK_TILE,
    observe: Callable[[str], None] = lambda stage: None,
) -> None:
    """Write the positions of all pre-tokens and separators, without allocating or waiting.

    text_words, pages, cells, pattern, tile: as in `pretokenize.launcher.start_bits`.
    word_starts: int32 [count + 1]; [:w] become their first bytes, ascending, and [w] becomes `count`.
    word_count: int32 [1], becomes w.
    scratch: int64, `scratch_size(count, tile)` elements or more, of any content.
    observe: called with the name of each stage once its kernels are launched.

    Raises ValueError for an unknown pattern, a text that is too long, and an invalid tile.
    """
    class_words, bits, of_pretokenize, of_compact = scratch[: scratch_size(count, tile)].split(_sizes(count, tile))
    bits = bits[: words_of(count, tile)]
    launcher.start_bits(text_words, count, pages, cells, pattern, class_words, bits, of_pretokenize, tile)
    observe("boundaries")
    compact.compact_bits(bits, count, word_starts, word_count, of_compact.view(torch.int32), tile)
    observe("compact")


def _sizes(count: int, tile: int) -> list[int]:
    sizes = (
        -(-count // 8),
        words_of(count, tile),
        launcher.scratch_size(count, tile),
        -(-compact.scratch_size(count, tile) // 2),
    )
    return [-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes]
