"""Eight bytes at a time in Triton: loaded from any position of the text, and hashed (see `hashing`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import triton
import triton.language as tl

from .hashing import MULTIPLIER

PADDING = 16  # bytes that may be read after the text

_MULTIPLIER = tl.constexpr(MULTIPLIER)


@triton.jit
def mix(hashes, words):
    """One step of the hash, uint64 tensors."""
    product = (hashes ^ words) * _MULTIPLIER
    return product ^ (product >> 32)


@triton.jit
def choices(hashes, last_slot):
    """The two slots, int32, at which a key of each hash may be; see `hashing`."""
    return hashes.to(tl.uint32).to(tl.int32, bitcast=True) & last_slot, (hashes >> 32).to(tl.int32) & last_slot


@triton.jit
def load_word(text_words, begin, left, wanted):
    """The first `left` of the eight bytes at `begin` as a little-endian uint64, the others 0; 0 where not `wanted`.

    text_words: the text as int64, padded by at least PADDING bytes to whole words. begin, left: int32. Two aligned
    loads instead of eight single ones.
    """
    wanted = wanted & (left > 0)
    index = begin >> 3
    shift = ((begin & 7) * 8).to(tl.uint64)
    low = tl.load(text_words + index, mask=wanted, other=0).to(tl.uint64, bitcast=True)
    high = tl.load(text_words + index + 1, mask=wanted, other=0).to(tl.uint64, bitcast=True)
    # Shifted twice: a shift by 64 is undefined.
    word = (low >> shift) | ((high << 1) << (63 - shift))
    surplus = ((8 - tl.minimum(tl.maximum(left, 1), 8)) * 8).to(tl.uint64)
    return tl.where(wanted, (word << surplus) >> surplus, 0)


def padded(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """A text, uint8 [n], as `load_word` reads it: int64 [ceil((n + PADDING) / 8)]."""
    words = np.zeros(-(-(len(text) + PADDING) // 8), dtype=np.int64)
    words.view(np.uint8)[: len(text)] = text
    return words
