"""Limits of a batch, and sizes of tiles, for all kernels."""

from __future__ import annotations

# Positions are int32, also in the last tile, which extends beyond the text, and a few bytes further.
MAX_BYTES = 2**31 - 2**17

# Texts are computed in buckets (see `batch.buffers`): the largest one that fits into MAX_BYTES.
MOST_CHUNK_BYTES = 7 << 28
# Bytes of a bucket for each separator that fits into it.
SEPARATOR_SHARE = 16

# Kernels with 64 bytes a lane, which is a word of a mask. The summaries of tiles are scanned by one program, so there
# should be few.
WORD = 64
_WARP_BYTES = 32 * WORD
MASK_TILE = 4 * _WARP_BYTES

# Split patterns.
PATTERNS = ("gpt2", "qwen2", "cl100k", "o200k", "tekken", "deepseek_v3")


def tiles_of(count: int, tile: int) -> int:
    """Tiles of `tile` bytes that `count` bytes take.

    Raises ValueError for a text longer than MAX_BYTES, and for a tile that is not a power of two up to 65,536.
    """
    if count > MAX_BYTES:
        raise ValueError(f"a batch of {count} bytes; the kernels take {MAX_BYTES} at most")
    if tile <= 0 or tile & (tile - 1) or tile > 2**16:
        raise ValueError(f"a tile of {tile} bytes: must be a power of two up to 65,536")
    return -(-count // tile)


def words_of(count: int, tile: int = MASK_TILE) -> int:
    """Words of a mask of `count` bytes, rounded up to whole tiles."""
    return tiles_of(count, tile) * (tile // WORD)


def warps_of(tile: int) -> int:
    """Warps of a program with 64 bytes a lane."""
    return max(1, min(tile // _WARP_BYTES, 8))
