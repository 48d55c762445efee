"""Words that are not in the vocabulary, cached on the device from batch to batch: frequent ones are merged once.

A slot is free, or holds a word of at most KEY_BYTES bytes and its ids, or is claimed by a word of this batch:

    state 0            free
    state length > 0   holds the word `keys` and its ids
    state -(w + 1)     claimed by word w: its ids are in the slot when the batch's merges are done

`claim` looks a missed word up at PROBES slots from its hash on. A free slot is taken by compare-and-swap; a word that
loses compares itself with the winner's text, so equal words share a slot and only the winner is merged. A word without
a slot is merged by itself. `keep` writes the merged ids into the claimed slots. A collision costs time, never wrong
ids: whole words are compared.

The two must not run at the same time over one cache; on one stream they do not. Within `claim` a state changes only
from 0, and only by compare-and-swap. A slot that holds a word stays as it is, so reads of its other fields need no
ordering.

| name        | dtype | shape            |                                                                       |
|-------------|-------|------------------|-----------------------------------------------------------------------|
| states      | int32 | [slots + tile]   | see above; the last ones stay 0: lanes without a claim swap there     |
| keys        | int64 | [slots, 4]       | the word, padded with zeros                                           |
| key_counts  | int32 | [slots]          | number of ids                                                         |
| key_ids     | int32 | [slots, 32]      |                                                                       |
| missed      | int32 | [m]              | the numbers of the words to look up                                   |
| word_ids    | int32 | [words]          | FIRST_SLOT - slot for a word with a slot; others are left as they are |
| lists       | int32 | 5 times [<= m]   | words to merge, of up to 16, 32, 64 and 256 bytes, and longer ones,   |
|             |       |                  | in any order. The last are set aside for the host: they get the word  |
|             |       |                  | id SET_ASIDE and the count 0                                          |
| list_counts | int32 | [6]              | how many; and how many slots were claimed; 0 before                   |
| counts      | int32 | [words]          | written for words that are set aside only                             |

Only the device may know how many words are missed, and how many chosen (see `common.grids`). Each list must be large
enough for all missed words of its lengths: for n bytes of text, at most n // 2, n // 17, n // 33, n // 65 and n // 257
words if every word of one byte is an entry.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from ..common.device_words import load_word, mix
from ..common.grids import counted, grid_of
from ..common.variant import Variant
from ..common.word_ids import FIRST_SLOT, SET_ASIDE
from .cache import KEY_BYTES, TILE, WordCache

PROBES = 8
# One word a lane: with two, sm_80 spills. With more lanes than words, a word would swap twice, and before Triton 3.4
# only one of the lanes gets the old value.
WARPS = 8
# Words whose ids one program of `keep` copies.
KEEP_TILE = 32

_FIRST_SLOT = tl.constexpr(FIRST_SLOT)
_ASIDE = tl.constexpr(SET_ASIDE)
_KEY_BYTES = tl.constexpr(KEY_BYTES)


@triton.jit(do_not_specialize=["last_slot"], do_not_specialize_on_alignment=["missed_count", "list_counts"])
def _claim_kernel(
    text_words,
    word_starts,
    states,
    keys,
    missed,
    missed_count,
    word_ids,
    list_16,
    list_32,
    list_64,
    list_256,
    list_aside,
    list_counts,
    counts,
    last_slot,
    PROBES: tl.constexpr,
    TILE: tl.constexpr,
):
    lane = tl.arange(0, TILE)
    count = tl.load(missed_count)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        number = tile * TILE + lane
        live = number < count
        word = tl.load(missed + number, mask=live, other=0)
        begin = tl.load(word_starts + word, mask=live, other=0)
        length = tl.load(word_starts + word + 1, mask=live, other=0) - begin
        searching = live & (length <= _KEY_BYTES)
        first = load_word(text_words, begin, length, searching)
        second = load_word(text_words, begin + 8, length - 8, searching)
        third = load_word(text_words, begin + 16, length - 16, searching)
        fourth = load_word(text_words, begin + 24, length - 24, searching)
        hashes = mix(mix(tl.full([TILE], 0, tl.uint64), length.to(tl.uint64)), first)
        hashes = mix(mix(mix(hashes, second), third), fourth)
        slot = (hashes & last_slot.to(tl.uint64)).to(tl.int32)
        found = tl.full([TILE], -1, tl.int32)
        claimed = live & (length < 0)
        for _ in range(PROBES):
            if tl.max(searching.to(tl.int32), 0) > 0:
                state = tl.load(states + slot, mask=searching, other=1)
                free = searching & (state == 0)
                if tl.max(free.to(tl.int32), 0) > 0:
                    # Lanes that want no slot compare with a value that is never there.
                    before = tl.atomic_cas(
                        states + tl.where(free, slot, last_slot + 1 + lane),
                        tl.where(free, 0, 1),
                        tl.where(free, -1 - word, 0),
                        sem="relaxed",
                    )
                    state = tl.where(free, before, state)
                mine = free & (state == 0)
                other = searching & (state < 0)
                owner = tl.where(other, -1 - state, 0)
                owner_begin = tl.load(word_starts + owner, mask=other, other=0)
                owner_length = tl.load(word_starts + owner + 1, mask=other, other=0) - owner_begin
                same_owner = other & (owner_length == length)
                held = searching & (state > 0) & (state == length)
                equal = same_owner | held
                for part in tl.static_range(4):
                    wanted = first if part == 0 else second if part == 1 else third if part == 2 else fourth
                    of_owner = load_word(text_words, owner_begin + 8 * part, owner_length - 8 * part, same_owner)
                    of_slot = tl.load(keys + slot.to(tl.int64) * 4 + part, mask=held, other=0)
                    equal = equal & (tl.where(held, of_slot.to(tl.uint64, bitcast=True), of_owner) == wanted)
                found = tl.where(mine | equal, slot, found)
                claimed = claimed | mine
                searching = searching & ((mine | equal) == 0)
                slot = (slot + 1) & last_slot
        tl.store(word_ids + word, -found + _FIRST_SLOT, mask=live & (found >= 0))

        merging = live & (claimed | (found < 0))
        aside = live & (length > 256)
        tl.store(word_ids + word, _ASIDE, mask=aside)
        tl.store(counts + word, 0, mask=aside)
        shorter = tl.where(length <= 16, 0, tl.where(length <= 32, 1, 2))
        size = tl.where(length <= 64, shorter, tl.where(length <= 256, 3, 4))
        for which in tl.static_range(5):
            listed = (merging & (size == which)).to(tl.int32)
            how_many = tl.sum(listed, 0)
            if how_many > 0:
                place = tl.atomic_add(list_counts + which, how_many, sem="relaxed") + tl.cumsum(listed, 0) - 1
                short = list_16 if which == 0 else list_32 if which == 1 else list_64
                words = short if which <= 2 else list_256 if which == 3 else list_aside
                tl.store(words + place, word, mask=listed > 0)
        claims = tl.sum(claimed.to(tl.int32), 0)
        if claims > 0:
            tl.atomic_add(list_counts + 5, claims, sem="relaxed")


@triton.jit(do_not_specialize_on_alignment=["chosen_count"])
def _keep_kernel(
    text_words, word_starts, word_ids, merged, counts, chosen, chosen_count, states, keys, key_counts, key_ids,
    KEY_BYTES: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    count = tl.load(chosen_count)
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        number = tile * TILE + tl.arange(0, TILE)
        live = number < count
        word = tl.load(chosen + number, mask=live, other=0)
        word_id = tl.load(word_ids + word, mask=live, other=0)
        claimed = live & (word_id <= _FIRST_SLOT)
        slot = tl.where(claimed, -word_id + _FIRST_SLOT, 0)
        begin = tl.load(word_starts + word, mask=claimed, other=0)
        length = tl.load(word_starts + word + 1, mask=claimed, other=0) - begin
        for part in tl.static_range(4):
            key = load_word(text_words, begin + 8 * part, length - 8 * part, claimed).to(tl.int64, bitcast=True)
            tl.store(keys + slot.to(tl.int64) * 4 + part, key, mask=claimed)
        ids = tl.load(counts + word, mask=claimed, other=0)
        tl.store(key_counts + slot, ids, mask=claimed)
        place = tl.arange(0, KEY_BYTES)[None, :]
        copied = claimed[:, None] & (place < ids[:, None])
        token = tl.load(merged + begin[:, None] + place, mask=copied, other=0)
        tl.store(key_ids + slot.to(tl.int64)[:, None] * KEY_BYTES + place, token, mask=copied)
        tl.store(states + slot, length, mask=claimed)


def claim(
    text_words: torch.Tensor,
    word_starts: torch.Tensor,
    missed: torch.Tensor,
    cache: WordCache,
    word_ids: torch.Tensor,
    lists: Sequence[torch.Tensor] | torch.Tensor,
    list_counts: torch.Tensor,
    counts: torch.Tensor,
    *,
    missed_count: torch.Tensor | None = None,
    tile: int = TILE,
) -> None:
    """Fills word_ids, lists, list_counts and counts, and claims slots; the tensors are those of the module's docstring.

    Every claim must be followed by `keep` with the merged ids, or by `clear`. missed_count: int32 [1]; None if all of
    `missed` are. tile: at most the cache's most_tile.
    """
    if tile > len(cache.states) - cache.slots:
        raise ValueError(f"a tile of {tile} words; the cache has room for {len(cache.states) - cache.slots}")
    if len(missed):
        _claim_kernel[grid_of(len(missed), tile, missed.device, WARPS)](
            text_words,
            word_starts,
            cache.states,
            cache.keys,
            missed,
            counted(missed_count, len(missed), missed.device),
            word_ids,
            *lists,
            list_counts,
            counts,
            cache.slots - 1,
            PROBES,
            tile,
            num_warps=WARPS,
        )


def keep(
    text_words: torch.Tensor,
    word_starts: torch.Tensor,
    word_ids: torch.Tensor,
    merged: torch.Tensor,
    counts: torch.Tensor,
    chosen: torch.Tensor,
    cache: WordCache,
    *,
    chosen_count: torch.Tensor | None = None,
    tile: int = KEEP_TILE,
) -> None:
    """Writes the ids of those of the words `chosen` that have claimed a slot; merged, counts: as in `merge.kernel`.

    chosen_count: int32 [1]; None if all of `chosen` are.
    """
    if len(chosen):
        _keep_kernel[grid_of(len(chosen), tile, chosen.device)](
            text_words,
            word_starts,
            word_ids,
            merged,
            counts,
            chosen,
            counted(chosen_count, len(chosen), chosen.device),
            cache.states,
            cache.keys,
            cache.key_counts,
            cache.key_ids,
            KEY_BYTES,
            tile,
        )


def variants() -> list[Variant]:
    """The variants that `claim` and `keep` compile with their usual tiles."""
    words = ("word_starts", "missed", "missed_count", "word_ids", "merged", "counts", "chosen", "chosen_count")
    lists = ("list_16", "list_32", "list_64", "list_256", "list_aside", "list_counts")
    arrays = dict.fromkeys((*words, *lists, "states", "key_counts", "key_ids"), "*i32")
    types = {**arrays, "text_words": "*i64", "keys": "*i64", "last_slot": "i32"}
    return [
        Variant(_claim_kernel, types, {"PROBES": PROBES, "TILE": TILE}, WARPS),
        Variant(_keep_kernel, types, {"KEY_BYTES": KEY_BYTES, "TILE": KEEP_TILE}),
    ]
