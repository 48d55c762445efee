"""What every kernel asks of a batch."""

from __future__ import annotations

# Positions are int32, also in the last tile, which reaches beyond the text, and a few bytes behind it.
MAX_BYTES = 2**31 - 2**17

# Texts are computed in buckets (see `batch`): of the largest one that MAX_BYTES has room for, no byte more.
MOST_CHUNK_BYTES = 7 << 28
# Bytes of a bucket for each separator that it has room for.
SEPARATOR_SHARE = 16

TILE = 1024

# Of the kernels that take 64 bytes a lane, a word of a mask: one warp a tile.
WORD = 64
MASK_TILE = 32 * WORD

# Split patterns.
PATTERNS = ("gpt2", "qwen2", "cl100k", "o200k", "tekken", "deepseek_v3")


def tiles_of(count: int, tile: int) -> int:
    """Tiles of `tile` bytes that `count` bytes take.

    Raises ValueError for a text longer than MAX_BYTES, and for a tile that is no power of two or above 65,536.
    """
    if count > MAX_BYTES:
        raise ValueError(f"a batch of {count} bytes; the kernels take {MAX_BYTES} at most")
    if tile <= 0 or tile & (tile - 1) or tile > 2**16:
        raise ValueError(f"a tile of {tile} bytes is no power of two up to 65,536")
    return -(-count // tile)


def warps_of(tile: int) -> int:
    """Warps of a program that takes 64 bytes a lane."""
    return max(1, min(tile // MASK_TILE, 8))
