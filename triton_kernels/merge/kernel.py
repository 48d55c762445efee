r"""BPE merges of words of up to 256 bytes: one row a word, and in each pass all merges that are certain.

Let the row's tokens be t[0], t[1], ..., and pair i be (t[i], t[i + 1]) with rank, result, gate, left and right shield
(see `table`). A pass merges pair i where

    gate[i]  and  rank[i] < left[i - 1]  and  rank[i] <= right[i + 1]            (no shields beyond the row's ends)

and all gated pairs of the row's least rank (of overlapping ones, x x x, every second from the left). If the row has
neither, it merges the leftmost pair of the least rank. The row is done when no pair has a rank.

Why these are BPE's own merges. BPE merges the leftmost pair of the least rank, again and again. Let pair (A, B) of rank
r qualify. As long as it is in the row, BPE merges pairs of rank r or less. At any time before it is merged,
A's left neighbour is some T whose right spine has today's neighbour, and merging (T, A) first would take a rank below
r; but every such rank is at least left[i - 1] > r. The right side is the same, with <= because the left one of equal
ranks goes first. So BPE merges (A, B), whatever its neighbours do; and doing it now changes nothing that BPE does
before that, because its result takes part in no merge of a rank below r (the gate). Two pairs that overlap never both
qualify: left[i] <= rank[i] and right[i] <= rank[i] by definition. A gated pair of the least rank is followed by its
equals before anything else happens, for the same reason; and merging a single leftmost least pair is BPE itself.

Tokens stay at the position of their first byte, with links to their neighbours: nothing moves in memory between passes.

| name        | dtype | shape       |                                                                      |
|-------------|-------|-------------|----------------------------------------------------------------------|
| text        | uint8 | [n]         |                                                                      |
| word_starts | int32 | [words + 1] | bytes                                                                |
| chosen      | int32 | [c]         | the numbers of words; those of up to `row` bytes, and more than      |
|             |       |             | `least`, are merged                                                  |
| count       | int32 | [1]         | how many are chosen; the tensor may be longer                        |
| pairs       | int64 | [slots, 4]  | PairTable.slots                                                      |
| byte_ids    | int32 | [256]       |                                                                      |
| merged      | int32 | [n]         | ids of word w, from merged[word_starts[w]] on                        |
| counts      | int32 | [words]     | how many; written for the chosen words only                          |

Limits: rows of ROWS bytes; longer words are set aside, for the host to merge.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from ..common.device_words import mix
from ..common.grids import counted, grid_of
from ..common.variant import Variant
from ..common.word_ids import SET_ASIDE
from .table import NO_MERGE

ROWS = (16, 32, 64, 128, 256)
# Words that a program merges at a time, and its warps. With these, no version of Triton that was tried needs stack. A
# warp holds whole rows, as tokens are gathered along them: with more warps than rows, several would hold the same row.
WORDS = {16: 16, 32: 8, 64: 2, 128: 1, 256: 1}
WARPS = {16: 2, 32: 4}
LONGER_WARPS = 1
# Tokens of a program, for most of these; callers scale by it.
TILE = 256

_NO_MERGE = tl.constexpr(NO_MERGE)
_ASIDE = tl.constexpr(SET_ASIDE)


@triton.jit
def _greater(a, b):
    return tl.maximum(a, b)


@triton.jit
def load_pairs(pairs, last_slot, left, right, wanted):
    """Rank * 2 + gate, id, left shield and right shield of the pairs of tokens (left, right); all int32."""
    key = (left.to(tl.int64) << 32) | right.to(tl.int64)
    hashes = mix((key * 0).to(tl.uint64), key.to(tl.uint64, bitcast=True))
    slot = (hashes & last_slot.to(tl.uint64)).to(tl.int64)
    value = key * 0 + 2 * _NO_MERGE
    shields = (key * 0 + _NO_MERGE) * ((1 << 32) + 1)
    searched = wanted
    while tl.max(searched.to(tl.int32)) > 0:
        found = tl.load(pairs + slot * 4, mask=searched, other=-1)
        same = searched & (found == key)
        value = tl.where(same, tl.load(pairs + slot * 4 + 1, mask=same, other=0), value)
        shields = tl.where(same, tl.load(pairs + slot * 4 + 2, mask=same, other=0), shields)
        searched = searched & (same == 0) & (found != -1)
        slot = (slot + 1) & last_slot
    low = 0xFFFFFFFF
    return (
        (value & low).to(tl.int32),
        (value >> 32).to(tl.int32),
        (shields & low).to(tl.int32),
        (shields >> 32).to(tl.int32),
    )


@triton.jit
def _merge_chosen(
    text, word_starts, chosen, count, pairs, byte_ids, merged, counts, last_slot, least,
    WORDS: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    for tile in range(tl.program_id(0), tl.cdiv(count, WORDS), tl.num_programs(0)):
        number = tile * WORDS + tl.arange(0, WORDS)
        live = number < count
        word = tl.load(chosen + number, mask=live, other=0)
        begin = tl.load(word_starts + word, mask=live, other=0)
        bytes_of_word = tl.load(word_starts + word + 1, mask=live, other=0) - begin
        live = live & (bytes_of_word > least) & (bytes_of_word <= ROW)
        length = tl.where(live, bytes_of_word, 0)[:, None]
        place = tl.arange(0, ROW)[None, :] + tl.full([WORDS, ROW], 0, tl.int32)
        alive = place < length
        byte = tl.load(text + begin[:, None] + place, mask=alive, other=0).to(tl.int32)
        token = tl.load(byte_ids + byte)
        after = place + 1
        before = place - 1
        going = tl.max(length) > 1
        while going:
            next_place = tl.minimum(after, ROW - 1)
            previous_place = tl.maximum(before, 0)
            paired = alive & (after < length)
            value, result, left, right = load_pairs(pairs, last_slot, token, tl.gather(token, next_place, 1), paired)
            rank = value >> 1
            gated = (value & 1) > 0
            mergeable = paired & (rank < _NO_MERGE)
            least_rank = tl.min(tl.where(mergeable, rank, _NO_MERGE), 1)[:, None]
            of_least = mergeable & gated & (rank == least_rank)
            # Every second one of a run of overlapping pairs, counted from the last token that begins none of them.
            order = tl.cumsum(alive.to(tl.int32), 1)
            outside = tl.associative_scan(tl.where(alive & (of_least == 0), order, 0), 1, _greater)
            of_least = of_least & (((order - outside) & 1) == 1)
            left_before = tl.where(before >= 0, tl.gather(left, previous_place, 1), _NO_MERGE)
            right_after = tl.where(after < length, tl.gather(right, next_place, 1), _NO_MERGE)
            qualified = mergeable & gated & (rank < left_before) & (rank <= right_after)
            merging = qualified | of_least
            alone = tl.max(merging.to(tl.int32), 1)[:, None] == 0
            leftmost = tl.min(tl.where(mergeable & (rank == least_rank), place, ROW), 1)[:, None]
            merging = merging | (alone & (place == leftmost))

            merging_flag = merging.to(tl.int32)
            # A token whose left neighbour merges is the right part of that merge, and gone.
            gone = alive & (before >= 0) & (tl.gather(merging_flag, previous_place, 1) > 0)
            gone_flag = gone.to(tl.int32)
            token = tl.where(merging, result, token)
            before_gone = tl.gather(gone_flag, previous_place, 1) > 0
            new_before = tl.where(before_gone, tl.gather(before, previous_place, 1), before)
            after = tl.where(merging, tl.gather(after, next_place, 1), after)
            before = tl.where(before >= 0, new_before, before)
            alive = alive & (gone == 0)
            going = tl.max(merging_flag) > 0
        kept = alive.to(tl.int32)
        tl.store(merged + begin[:, None] + tl.cumsum(kept, 1) - 1, token, mask=alive)
        tl.store(counts + word, tl.sum(kept, 1), mask=live)


@triton.jit(do_not_specialize=["last_slot", "least"], do_not_specialize_on_alignment=["chosen_count"])
def _merge_kernel(
    text, word_starts, chosen, chosen_count, pairs, byte_ids, merged, counts, last_slot, least,
    WORDS: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    _merge_chosen(
        text, word_starts, chosen, tl.load(chosen_count), pairs, byte_ids, merged, counts, last_slot, least, WORDS, ROW
    )


@triton.jit(do_not_specialize=["last_slot"], do_not_specialize_on_alignment=["list_counts", "aside_count"])
def _merge_longer_kernel(
    text, word_starts, list_64, list_longer, list_counts, pairs, byte_ids, merged, counts, word_ids, aside, aside_count,
    last_slot, WORDS_64: tl.constexpr, WORDS_128: tl.constexpr, WORDS_256: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    count_64, count = tl.load(list_counts), tl.load(list_counts + 1)
    _merge_chosen(text, word_starts, list_64, count_64, pairs, byte_ids, merged, counts, last_slot, 32, WORDS_64, 64)
    _merge_chosen(text, word_starts, list_longer, count, pairs, byte_ids, merged, counts, last_slot, 64, WORDS_128, 128)
    _merge_chosen(
        text, word_starts, list_longer, count, pairs, byte_ids, merged, counts, last_slot, 128, WORDS_256, 256
    )
    for tile in range(tl.program_id(0), tl.cdiv(count, TILE), tl.num_programs(0)):
        number = tile * TILE + tl.arange(0, TILE)
        live = number < count
        word = tl.load(list_longer + number, mask=live, other=0)
        begin = tl.load(word_starts + word, mask=live, other=0)
        longest = live & (tl.load(word_starts + word + 1, mask=live, other=0) - begin > 256)
        tl.store(counts + word, 0, mask=longest)
        tl.store(word_ids + word, _ASIDE, mask=longest)
        flags = longest.to(tl.int32)
        how_many = tl.sum(flags, 0)
        if how_many > 0:
            place = tl.atomic_add(aside_count, how_many, sem="relaxed") + tl.cumsum(flags, 0) - 1
            tl.store(aside + place, word, mask=longest)


def merge(
    text: torch.Tensor,
    word_starts: torch.Tensor,
    chosen: torch.Tensor,
    pairs: torch.Tensor,
    byte_ids: torch.Tensor,
    merged: torch.Tensor,
    counts: torch.Tensor,
    *,
    row: int,
    least: int = -1,
    count: torch.Tensor | None = None,
    tile: int = TILE,
) -> None:
    """Fills merged and counts; the tensors are those of the module's docstring, on one device.

    row: 16 or 32; words of other lengths stay as they are. count: None if all of `chosen` are.
    """
    if row not in WARPS:
        raise ValueError(f"rows have {tuple(WARPS)} bytes, not {row}")
    if len(chosen):
        words = max(1, WORDS[row] * tile // TILE)
        _merge_kernel[grid_of(len(chosen), words, chosen.device, WARPS[row])](
            text, word_starts, chosen, counted(count, len(chosen), chosen.device), pairs, byte_ids, merged, counts,
            len(pairs) - 1, least, words, row, num_warps=WARPS[row],
        )  # fmt: skip


def merge_longer(
    text: torch.Tensor,
    word_starts: torch.Tensor,
    lists: Sequence[torch.Tensor],
    list_counts: torch.Tensor,
    pairs: torch.Tensor,
    byte_ids: torch.Tensor,
    merged: torch.Tensor,
    counts: torch.Tensor,
    word_ids: torch.Tensor,
    aside: torch.Tensor,
    aside_count: torch.Tensor,
    *,
    tile: int = TILE,
) -> None:
    """As `merge`, in one launch, for all words of more than 32 bytes, of which most batches have few.

    lists, list_counts, int32 [2]: words of up to 64 bytes, and of more. aside, aside_count, int32 [1]: those of more
    than 256 bytes, and how many; 0 before. Such a word gets the count 0 and the word id SET_ASIDE.
    """
    list_64, list_longer = lists
    sizes = {f"WORDS_{row}": max(1, WORDS[row] * tile // TILE) for row in ROWS[2:]}
    _merge_longer_kernel[grid_of(len(list_longer), 1, text.device, LONGER_WARPS)](
        text, word_starts, list_64, list_longer, list_counts, pairs, byte_ids, merged, counts, word_ids, aside,
        aside_count, len(pairs) - 1, **sizes, TILE=tile, num_warps=LONGER_WARPS,
    )  # fmt: skip


def variants() -> list[Variant]:
    """What `merge` and `merge_longer` compile with their usual tiles."""
    words = ("word_starts", "chosen", "chosen_count", "byte_ids", "merged", "counts", "aside", "aside_count")
    lists = ("list_64", "list_longer", "list_counts", "word_ids")
    types = {**dict.fromkeys((*words, *lists), "*i32"), "text": "*u8", "pairs": "*i64"}
    types |= dict.fromkeys(("last_slot", "least"), "i32")
    rows = [Variant(_merge_kernel, types, {"WORDS": WORDS[row], "ROW": row}, warps) for row, warps in WARPS.items()]
    sizes = {f"WORDS_{row}": WORDS[row] for row in ROWS[2:]}
    return [*rows, Variant(_merge_longer_kernel, types, {**sizes, "TILE": TILE}, LONGER_WARPS)]
