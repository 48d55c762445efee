"""BPE merges of words of any length, by the rule of `kernel`; all programs work on all words.

The tokens of all words are side by side in one array, with the number of their word. A pass has four kernels, with
torch's running sums between them: the pairs, and each word's least rank; which pairs qualify; which of them merge; the
tokens that are left, moved together. After each pass the host reads how many are left, and stops when none has merged.

    tokens  int32 [m], words  int32 [m]    as above
    pair_of int32 [m, 4]                   of token i and the next one: rank * 2 + gate, result, left and right shield
    least   int64 [w]                      least rank << 32 | the first place that has it
    flags   int32 [m]                      1: qualifies, 2: a gated pair of its word's least rank
    any_of  int32 [w]                      1 where some pair of the word has a flag

Limits: all words together below 2**31 bytes; `most_passes`, which only tables far from any trained one exceed.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ..common.variant import Variant
from .kernel import load_pairs
from .table import NO_MERGE

TILE = 512
MOST_PASSES = 2000

_NO_MERGE = tl.constexpr(NO_MERGE)
_QUALIFIES = tl.constexpr(1)
_LEAST = tl.constexpr(2)


class UnfinishedMergesError(RuntimeError):
    """Merges are left after the allowed number of passes."""


@triton.jit(do_not_specialize=["count", "last_slot"])
def _pairs_kernel(tokens, words, pairs, pair_of, least, count, last_slot, TILE: tl.constexpr):
    place = tl.program_id(0) * TILE + tl.arange(0, TILE)
    live = place < count
    word = tl.load(words + place, mask=live, other=-1)
    paired = live & (tl.load(words + place + 1, mask=place + 1 < count, other=-2) == word)
    left = tl.load(tokens + place, mask=paired, other=0)
    right = tl.load(tokens + place + 1, mask=paired, other=0)
    value, result, left_shield, right_shield = load_pairs(pairs, last_slot, left, right, paired)
    value = tl.where(paired, value, 2 * _NO_MERGE)
    row = pair_of + place.to(tl.int64) * 4
    tl.store(row, value, mask=live)
    tl.store(row + 1, result, mask=live)
    tl.store(row + 2, left_shield, mask=live)
    tl.store(row + 3, right_shield, mask=live)
    rank = value >> 1
    mergeable = rank < _NO_MERGE
    key = (rank.to(tl.int64) << 32) | place.to(tl.int64)
    first_word = tl.min(tl.where(live, word, 0x7FFFFFFF), 0)
    if first_word == tl.max(word, 0):
        if tl.max(mergeable.to(tl.int32), 0) > 0:
            tl.atomic_min(least + first_word, tl.min(key, 0), sem="relaxed")
    else:
        tl.atomic_min(least + word, key, mask=live & mergeable, sem="relaxed")


@triton.jit(do_not_specialize=["count"])
def _qualify_kernel(words, pair_of, least, flags, any_of, count, TILE: tl.constexpr):
    place = tl.program_id(0) * TILE + tl.arange(0, TILE)
    live = place < count
    word = tl.load(words + place, mask=live, other=-1)
    row = pair_of + place.to(tl.int64) * 4
    value = tl.load(row, mask=live, other=2 * _NO_MERGE)
    rank = value >> 1
    gated = live & (rank < _NO_MERGE) & ((value & 1) > 0)
    has_left = live & (place > 0)
    has_left = has_left & (tl.load(words + place - 1, mask=has_left, other=-1) == word)
    left_before = tl.load(row - 2, mask=has_left, other=_NO_MERGE)
    # From the rows before and after. The last token of a word begins no pair, and has no shield.
    right_after = tl.load(row + 7, mask=gated, other=_NO_MERGE)
    least_rank = (tl.load(least + word, mask=gated, other=0) >> 32).to(tl.int32)
    qualifies = gated & (rank < left_before) & (rank <= right_after)
    is_least = gated & (rank == least_rank)
    flag = tl.where(qualifies, _QUALIFIES, 0) | tl.where(is_least, _LEAST, 0)
    tl.store(flags + place, flag, mask=live)
    tl.store(any_of + word, 1, mask=flag > 0)


@triton.jit(do_not_specialize=["count"])
def _decide_kernel(words, pair_of, least, flags, outside, any_of, merging, count, TILE: tl.constexpr):
    place = tl.program_id(0) * TILE + tl.arange(0, TILE)
    live = place < count
    word = tl.load(words + place, mask=live, other=0)
    flag = tl.load(flags + place, mask=live, other=0)
    # Every second one of a run of overlapping pairs, counted from the last token that begins none of them.
    every_second = ((place - tl.load(outside + place, mask=live, other=0)) & 1) == 1
    chosen = ((flag & _QUALIFIES) > 0) | (((flag & _LEAST) > 0) & every_second)
    leftmost = tl.load(least + word, mask=live, other=0)
    mergeable = (leftmost >> 32) < _NO_MERGE
    alone = live & mergeable & (tl.load(any_of + word, mask=live, other=1) == 0)
    chosen = chosen | (alone & ((leftmost & 0xFFFFFFFF) == place))
    tl.store(merging + place, chosen.to(tl.int32), mask=live)


@triton.jit(do_not_specialize=["count"])
def _move_kernel(tokens, words, pair_of, merging, moved_to, new_tokens, new_words, count, TILE: tl.constexpr):
    place = tl.program_id(0) * TILE + tl.arange(0, TILE)
    live = place < count
    gone = tl.load(merging + place - 1, mask=live & (place > 0), other=0) > 0
    kept = live & (gone == 0)
    merges = tl.load(merging + place, mask=kept, other=0) > 0
    result = tl.load(pair_of + place.to(tl.int64) * 4 + 1, mask=merges, other=0)
    token = tl.where(merges, result, tl.load(tokens + place, mask=kept, other=0))
    target = tl.load(moved_to + place, mask=kept, other=0)
    tl.store(new_tokens + target, token, mask=kept)
    tl.store(new_words + target, tl.load(words + place, mask=kept, other=0), mask=kept)


def merge_tokens(
    tokens: torch.Tensor,
    words: torch.Tensor,
    word_count: int,
    pairs: torch.Tensor,
    *,
    tile: int = TILE,
    most_passes: int = MOST_PASSES,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and words after all merges. `words` ascends from 0 to word_count - 1; see the module's docstring.

    Raises UnfinishedMergesError.
    """
    device = tokens.device
    for _ in range(most_passes):
        count = len(tokens)
        if count == 0:
            return tokens, words
        grid = (triton.cdiv(count, tile),)
        pair_of = torch.empty((count, 4), dtype=torch.int32, device=device)
        least = torch.full((word_count,), NO_MERGE << 32, dtype=torch.int64, device=device)
        _pairs_kernel[grid](tokens, words, pairs, pair_of, least, count, len(pairs) - 1, tile)
        flags = torch.empty(count, dtype=torch.int32, device=device)
        any_of = torch.zeros(word_count, dtype=torch.int32, device=device)
        _qualify_kernel[grid](words, pair_of, least, flags, any_of, count, tile)
        outside = _last_outside(flags >= 2)
        merging = torch.empty(count, dtype=torch.int32, device=device)
        _decide_kernel[grid](words, pair_of, least, flags, outside, any_of, merging, count, tile)
        kept = torch.ones(count, dtype=torch.int32, device=device)
        kept[1:] -= merging[:-1]
        moved_to = torch.cumsum(kept, 0, dtype=torch.int32) - 1
        left = int(moved_to[-1]) + 1
        if left == count:
            return tokens, words
        new_tokens, new_words = torch.empty_like(tokens[:left]), torch.empty_like(words[:left])
        _move_kernel[grid](tokens, words, pair_of, merging, moved_to, new_tokens, new_words, count, tile)
        tokens, words = new_tokens, new_words
    raise UnfinishedMergesError(f"{len(tokens)} tokens of {word_count} words still merge after {most_passes} passes")


def _last_outside(inside: torch.Tensor) -> torch.Tensor:
    """For each place, the last place up to there that is not inside, int32; -1 if there is none.

    That is a running maximum, for which torch uses one block of threads; running sums it shares among many.
    """
    outside = torch.where(inside, -1, torch.arange(len(inside), dtype=torch.int32, device=inside.device))
    number = torch.cumsum(~inside, 0)
    places = torch.full((len(inside) + 1,), -1, dtype=torch.int32, device=inside.device)
    return places.scatter_(0, torch.where(inside, 0, number), outside)[number]


def merge(
    text: torch.Tensor,
    word_starts: torch.Tensor,
    chosen: torch.Tensor,
    pairs: torch.Tensor,
    byte_ids: torch.Tensor,
    merged: torch.Tensor,
    counts: torch.Tensor,
    *,
    tile: int = TILE,
    most_passes: int = MOST_PASSES,
) -> None:
    """As `kernel.merge`, for words of any length."""
    if not len(chosen):
        return
    begins = word_starts[chosen]
    lengths = word_starts[chosen + 1] - begins
    numbers = torch.arange(len(chosen), dtype=torch.int32, device=text.device)
    words = torch.repeat_interleave(numbers, lengths)
    tokens = byte_ids[text[_places(words, lengths, begins)].long()]
    tokens, words = merge_tokens(tokens, words, len(chosen), pairs, tile=tile, most_passes=most_passes)
    left = torch.bincount(words, minlength=len(chosen)).to(torch.int32)
    merged[_places(words, left, begins)] = tokens
    counts[chosen] = left


def _places(words: torch.Tensor, lengths: torch.Tensor, begins: torch.Tensor) -> torch.Tensor:
    """begins[words[i]], plus how many of the same word are before i."""
    before = torch.cumsum(lengths, 0) - lengths
    return torch.arange(len(words), device=words.device) - before[words] + begins[words]


def variants() -> list[Variant]:
    """What `merge` compiles with its usual tile."""
    arrays = (
        "tokens",
        "words",
        "pair_of",
        "flags",
        "outside",
        "any_of",
        "merging",
        "moved_to",
        "new_tokens",
        "new_words",
    )
    types = {**dict.fromkeys(arrays, "*i32"), "pairs": "*i64", "least": "*i64", "count": "i32", "last_slot": "i32"}
    kernels = (_pairs_kernel, _qualify_kernel, _decide_kernel, _move_kernel)
    return [Variant(kernel, types, {"TILE": TILE}) for kernel in kernels]
