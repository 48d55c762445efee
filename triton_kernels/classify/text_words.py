"""Eight bytes of the text at a time, and where it ends, on masks of 64 bytes a lane."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def load_words(text_words, index, count):
    """Eight bytes of the text at each index. Outside the text they are separators, except within its last word."""
    words = tl.load(text_words + index, mask=(index >= 0) & (index * 8 < count), other=-1)
    return words.to(tl.uint64, bitcast=True)


@triton.jit
def bytes_after_text(word, count):
    """The mask of those bytes of each word of 64 that are after the text."""
    left = tl.minimum(tl.maximum(count - word * 64, 0), 64).to(tl.uint64)
    # Shifted twice: a shift by 64 is undefined.
    return (~(left ^ left) << (left >> 1)) << (left - (left >> 1))
