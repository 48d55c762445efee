"""Whole pre-tokens to ids, by a hash table over the vocabulary.

    word_ids[w] = id of the entry whose bytes are text[word_starts[w] : word_starts[w + 1]],
                  MISSED if there is none, SEPARATOR if the word is one byte 0xFF

Entries of any length are found, up to the longest; every byte of the key is compared.

| name         | dtype | shape       |                                                                  |
|--------------|-------|-------------|------------------------------------------------------------------|
| text_words   | int64 | [t]         | the text, see `device_words.padded`                              |
| word_starts  | int32 | [words + 1] | bytes; the last is the text's length                             |
| slots        | int64 | [slots, 4]  | bytes 0 to 7; 8 to 15; length * 2**32 + id (-1: free); where in  |
|              |       |             | `rests` the other bytes begin                                    |
| rests        | int64 | [r]         | bytes from 16 on, of entries that are longer                     |
| word_ids     | int32 | [words]     |                                                                  |
| missed       | int32 | [words]     | the numbers of the missed words, in any order                    |
| missed_count | int32 | [1]         | how many; 0 before                                               |
| words        | int32 | [1]         | how many words there are; the tensors may be longer              |

A word is in one of two slots (see `common.hashing`), if at all. One of up to 16 bytes is found, or missed, by two
64-bit words and its length, which are in the 32 bytes of a slot, a single sector of the L2 cache. Only if these three
agree and the entry is longer are its other bytes compared.

Limits: texts below 2**31 - 64 bytes; ids from 0 to 2**31 - 1. A miss is not an error: the word goes to the cache
and the merges.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.device_words import choices, load_word, mix
from ..common.grids import counted, grid_of
from ..common.variant import Variant
from ..common.word_ids import MISSED, SEPARATOR

TILE = 256

_MISSED = tl.constexpr(MISSED)
_SEPARATOR = tl.constexpr(SEPARATOR)


@triton.jit(do_not_specialize=["last_slot", "longest"], do_not_specialize_on_alignment=["missed_count", "words"])
def _lookup_kernel(
    text_words, word_starts, slots, rests, word_ids, missed, missed_count, words, last_slot, longest, TILE: tl.constexpr
):
    count = tl.load(words)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        word = tile * TILE + tl.arange(0, TILE)
        live = word < count
        begin = tl.load(word_starts + word, mask=live, other=0)
        length = tl.load(word_starts + word + 1, mask=live, other=0) - begin
        low = load_word(text_words, begin, length, live)
        high = load_word(text_words, begin + 8, length - 8, live)
        separator = live & (length == 1) & (low == 0xFF)
        searched = live & (length <= longest) & (separator == 0)

        hashes = mix(mix(tl.full([TILE], 0, tl.uint64), low), high)
        longest_searched = tl.max(tl.where(searched, length, 0), 0)
        k = 16
        while k < longest_searched:
            more = searched & (length > k)
            hashes = tl.where(more, mix(hashes, load_word(text_words, begin + k, length - k, more)), hashes)
            k += 8
        found = tl.where(separator, _SEPARATOR, tl.full([TILE], _MISSED, tl.int32))
        one, other = choices(mix(hashes, length.to(tl.uint64)), last_slot)
        for choice in tl.static_range(2):
            slot = one if choice == 0 else other
            # 16 bytes a load. Entries are read again and again: they should stay in the L2 cache while the text streams
            # through it.
            halves = (slots + slot * 4)[:, None] + tl.arange(0, 2)[None, :]
            entry_low, entry_high = tl.split(
                tl.load(halves, mask=searched[:, None], other=0, eviction_policy="evict_last")
            )
            entry, rest_place = tl.split(
                tl.load(halves + 2, mask=searched[:, None], other=-1, eviction_policy="evict_last")
            )
            same = searched & ((entry >> 32) == length)
            same = same & (entry_low.to(tl.uint64, bitcast=True) == low)
            same = same & (entry_high.to(tl.uint64, bitcast=True) == high)
            longest_same = tl.max(tl.where(same, length, 0), 0)
            k = 16
            while k < longest_same:
                more = same & (length > k)
                rest = load_word(text_words, begin + k, length - k, more)
                entry_rest = tl.load(rests + rest_place + (k - 16) // 8, mask=more, other=0)
                same = same & ((more == 0) | (entry_rest.to(tl.uint64, bitcast=True) == rest))
                k += 8
            found = tl.where(same, (entry & 0x7FFFFFFF).to(tl.int32), found)
            searched = searched & (same == 0)
        tl.store(word_ids + word, found, mask=live)

        miss = (live & (found == _MISSED)).to(tl.int32)
        misses = tl.sum(miss, 0)
        if misses > 0:
            first = tl.atomic_add(missed_count, misses, sem="relaxed")
            tl.store(missed + first + tl.cumsum(miss, 0) - 1, word, mask=miss > 0)


def lookup(
    text_words: torch.Tensor,
    word_starts: torch.Tensor,
    slots: torch.Tensor,
    rests: torch.Tensor,
    longest: int,
    word_ids: torch.Tensor,
    missed: torch.Tensor,
    missed_count: torch.Tensor,
    *,
    words: torch.Tensor | None = None,
    tile: int = TILE,
) -> None:
    """Fills word_ids, missed and missed_count; the tensors are those of the module's docstring, on one device.

    words: None if all of word_starts are words.
    """
    most = len(word_starts) - 1
    if most:
        words = counted(words, most, word_starts.device)
        _lookup_kernel[grid_of(most, tile, word_starts.device)](
            text_words, word_starts, slots, rests, word_ids, missed, missed_count, words, len(slots) - 1, longest, tile
        )


def variants() -> list[Variant]:
    """The variants that `lookup` compiles with its usual tile."""
    words = dict.fromkeys(("word_starts", "word_ids", "missed", "missed_count", "words"), "*i32")
    tables = dict.fromkeys(("text_words", "slots", "rests"), "*i64")
    numbers = dict.fromkeys(("last_slot", "longest"), "i32")
    return [Variant(_lookup_kernel, {**words, **tables, **numbers}, {"TILE": TILE})]
