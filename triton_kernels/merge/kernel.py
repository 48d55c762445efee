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
| pairs       | int64 | [3 * slots] | PairTable.slots                                                      |
| byte_ids    | int32 | [256]       |                                                                      |
| merged      | int32 | [n]         | ids of word w, from merged[word_starts[w]] on                        |
| counts      | int32 | [words]     | how many; written for the chosen words only                          |

Limits: rows of ROWS bytes.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.device_words import choices, mix
from ..common.grids import counted, grid_of
from ..common.variant import Variant
from .table import NO_MERGE

ROWS = (16, 32, 64, 128, 256)
# Words that a program merges at a time, and its warps. With these, no version of Triton that was tried needs stack. A
# warp holds whole rows, as tokens are gathered along them: with more warps than rows, several would hold the same row.
WORDS = {16: 16, 32: 4, 64: 2, 128: 1, 256: 2}
WARPS = {16: 4, 32: 2, 64: 2, 128: 1, 256: 2}
# Tokens of a program, for most of these; callers scale by it.
TILE = 256

_NO_MERGE = tl.constexpr(NO_MERGE)


@triton.jit
def _greater(a, b):
    return tl.maximum(a, b)


@triton.jit
def load_pairs(pairs, last_slot, left, right, wanted):
    """Rank * 2 + gate, id, left shield and right shield of the pairs of tokens (left, right); all int32."""
    key = (left.to(tl.int64) << 32) | right.to(tl.int64)
    hashes = mix(mix((key * 0).to(tl.uint64), left.to(tl.uint64)), right.to(tl.uint64))
    first, second = choices(hashes, last_slot)
    at_first = tl.load(pairs + first, mask=wanted, other=-1) == key
    at_second = tl.load(pairs + second, mask=wanted, other=-1) == key
    found = wanted & (at_first | at_second)
    values = pairs + last_slot + 1 + tl.where(at_first, first, second) * 2
    value = tl.load(values, mask=found, other=2 * _NO_MERGE)
    shields = tl.load(values + 1, mask=found, other=_NO_MERGE * ((1 << 32) + 1))
    low = 0xFFFFFFFF
    return (
        (value & low).to(tl.int32),
        (value >> 32).to(tl.int32),
        (shields & low).to(tl.int32),
        (shields >> 32).to(tl.int32),
    )


@triton.jit(do_not_specialize=["last_slot", "least"], do_not_specialize_on_alignment=["chosen_count"])
def _merge_kernel(
    text, word_starts, chosen, chosen_count, pairs, byte_ids, merged, counts, last_slot, least,
    WORDS: tl.constexpr, ROW: tl.constexpr,
):  # fmt: skip
    count = tl.load(chosen_count)
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

    row: one of ROWS; longer words, and those of up to `least` bytes, stay as they are.
    count: None if all of `chosen` are.
    """
    if row not in ROWS:
        raise ValueError(f"rows have {ROWS} bytes, not {row}")
    if len(chosen):
        words = max(1, WORDS[row] * tile // TILE)
        _merge_kernel[grid_of(len(chosen), words, chosen.device, WARPS[row])](
            text, word_starts, chosen, counted(count, len(chosen), chosen.device), pairs, byte_ids, merged, counts,
            len(pairs) // 3 - 1, least, words, row, num_warps=WARPS[row],
        )  # fmt: skip


def variants() -> list[Variant]:
    """What `merge` compiles with its usual tile."""
    words = ("word_starts", "chosen", "chosen_count", "byte_ids", "merged", "counts")
    types = {
        **dict.fromkeys(words, "*i32"),
        "text": "*u8",
        "pairs": "*i64",
        **dict.fromkeys(("last_slot", "least"), "i32"),
    }
    return [Variant(_merge_kernel, types, {"WORDS": WORDS[row], "ROW": row}, WARPS[row]) for row in ROWS]
