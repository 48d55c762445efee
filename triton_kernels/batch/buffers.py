"""The buffers of a batch: what the kernels read and write, and the sizes.

A batch of n bytes is computed in a *bucket* of N >= n bytes; there are four bucket sizes for each power of two.
Launches, their grids and the buffers depend only on the bucket, so they can be recorded once and replayed. Whatever
depends on the batch is in device memory, and is bounded by the bucket:

| on the device    | read by                                | at most                                            |
|------------------|----------------------------------------|----------------------------------------------------|
| text bytes n     | `clear`                                | N                                                  |
| separators, rows | find/place_separators, row_offsets     | N // SEPARATOR_SHARE, by choice of the bucket      |
| word_count       | find_separators                        | N: the words of the whole buffer                   |
| words            | lookup, emit                           | n: every word has a byte                           |
| missed           | claim                                  | N // 2: words of one byte are entries              |
| list_counts      | merge, keep; the last one              | N // 2, N // 17, N // 33, N // 65, N // 257: words |
|                  | `WordsToIds.finish_aside`, on the host | of more than 0, 16, 32, 64, 256 bytes              |
| id_count         | the copy of the ids to the host        | n: every id stands for a byte or a separator       |

After the text, up to N, the buffer is NUL. These bytes are classified and split into words as well (a bucket costs at
most a quarter more than its batch), but their words are not counted: a text ends with a separator, after which a new
word begins. The buffer has PADDING more bytes, which kernels may read.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from ..common.device_words import PADDING
from ..common.grids import grid_of
from ..common.limits import MAX_BYTES, SEPARATOR_SHARE
from ..common.variant import Variant
from ..emit import kernel as emit
from ..word_cache.cache import LEAST_BYTES
from . import text_to_words

LEAST_BUCKET = 1 << 14
CLEAR_TILE = 1024

# Places in `Batch.sizes` and in `Batch.counters`.
TEXT_BYTES, SEPARATORS, ROW_COUNT, SIZES = 0, 1, 2, 3
WORD_COUNT, WORDS, MISSED, LISTS, ASIDE, CLAIMED, ID_COUNT, COUNTERS = 0, 1, 2, 3, 7, 8, 9, 10


def bucket_of(text_bytes: int, separators: int) -> int:
    """The smallest bucket, in bytes, for a batch of this size: 4, 5, 6 or 7 times a power of two.

    Raises ValueError if that is more than the kernels accept.
    """
    wanted = max(text_bytes, SEPARATOR_SHARE * separators, LEAST_BUCKET)
    unit = 1 << ((wanted - 1).bit_length() - 3)
    bucket = -(-wanted // unit) * unit
    if bucket > MAX_BYTES:
        raise ValueError(f"a batch of {text_bytes} bytes and {separators} separators is too large")
    return bucket


@dataclass(frozen=True)
class Batch:
    """Buffers of one batch in flight; the caller fills the first five.

    text_words int64: `device_words.padded`. sizes int32 [SIZES]. positions, token_ids, row_ends int32: see
    `emit.kernel`; sizes says how many. counters int32 [COUNTERS], ids int32, row_offsets int64: the results.
    """

    bucket: int
    text_words: torch.Tensor
    sizes: torch.Tensor
    positions: torch.Tensor
    token_ids: torch.Tensor
    row_ends: torch.Tensor
    counters: torch.Tensor
    ids: torch.Tensor
    row_offsets: torch.Tensor

    @classmethod
    def empty(cls, bucket: int, device: torch.device) -> Batch:
        separators = bucket // SEPARATOR_SHARE

        def room(size: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
            return torch.empty(size, dtype=dtype, device=device)

        return cls(
            bucket, room(_words_of(bucket), torch.int64), room(SIZES), room(separators), room(separators),
            room(separators), room(COUNTERS), room(bucket), room(separators + 1, torch.int64),
        )  # fmt: skip

    def within(self, bucket: int) -> Batch:
        """The same memory for a bucket of at most this size."""
        separators = bucket // SEPARATOR_SHARE
        return Batch(
            bucket, self.text_words[: _words_of(bucket)], self.sizes, self.positions[:separators],
            self.token_ids[:separators], self.row_ends[:separators], self.counters, self.ids[:bucket],
            self.row_offsets[: separators + 1],
        )  # fmt: skip

    @property
    def text(self) -> torch.Tensor:
        """The whole bucket, uint8."""
        return self.text_words.view(torch.uint8)[: self.bucket]

    def size(self, which: int) -> torch.Tensor:
        return self.sizes[which : which + 1]

    def counter(self, which: int) -> torch.Tensor:
        return self.counters[which : which + 1]

    def bytes(self) -> int:
        return sum(tensor.nbytes for tensor in vars(self).values() if isinstance(tensor, torch.Tensor))


@dataclass(frozen=True)
class Scratch:
    """Buffers that a batch needs from its first kernel to its last; batches use them one after the other."""

    bucket: int
    of_text: torch.Tensor
    word_starts: torch.Tensor
    numbers: torch.Tensor
    word_ids: torch.Tensor
    missed: torch.Tensor
    lists: tuple[torch.Tensor, ...]
    merged: torch.Tensor
    counts: torch.Tensor
    tile_ids: torch.Tensor
    ends: torch.Tensor

    @classmethod
    def empty(cls, bucket: int, device: torch.device, tile: int) -> Scratch:
        """tile: that of `batch.text_to_words`."""

        def room(size: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
            return torch.empty(size, dtype=dtype, device=device)

        lists = (bucket // least for least in LEAST_BYTES)
        return cls(
            bucket, room(text_to_words.scratch_size(bucket, tile), torch.int64), room(bucket + 1),
            room(bucket // SEPARATOR_SHARE), room(bucket), room(bucket // 2), tuple(map(room, lists)),
            room(bucket), room(bucket), room(bucket // emit.TILE + 1), room(bucket),
        )  # fmt: skip

    def within(self, bucket: int) -> Scratch:
        """The same memory for a bucket of at most this size; buffers whose size affects no launch stay as they are."""
        return Scratch(
            bucket, self.of_text, self.word_starts[: bucket + 1],
            self.numbers[: bucket // SEPARATOR_SHARE], self.word_ids[:bucket], self.missed[: bucket // 2],
            self.lists, self.merged, self.counts[:bucket], self.tile_ids, self.ends,
        )  # fmt: skip

    def bytes(self) -> int:
        tensors = [tensor for tensor in vars(self).values() if isinstance(tensor, torch.Tensor)]
        return sum(tensor.nbytes for tensor in (*tensors, *self.lists))


def _words_of(bucket: int) -> int:
    return -(-(bucket + PADDING) // 8)


@triton.jit(do_not_specialize=["room"], do_not_specialize_on_alignment=["text_bytes"])
def _clear_kernel(text, text_bytes, room, TILE: tl.constexpr):
    count = tl.load(text_bytes)
    for tile in range(tl.program_id(0), tl.cdiv(room - count, TILE), tl.num_programs(0)):
        place = count + tile * TILE + tl.arange(0, TILE)
        tl.store(text + place, tl.full([TILE], 0, tl.uint8), mask=place < room)


def clear(batch: Batch, *, tile: int = CLEAR_TILE) -> None:
    """Fills the buffer after the text with NUL and resets the counters to 0."""
    batch.counters.zero_()
    text = batch.text_words.view(torch.uint8)
    # At most a quarter of the bucket needs filling; where it is more, programs take several tiles.
    _clear_kernel[grid_of(len(text) // 4, tile, text.device)](text, batch.size(TEXT_BYTES), len(text), tile)


def variants() -> list[Variant]:
    """The variants that `clear` compiles."""
    return [Variant(_clear_kernel, {"text": "*u8", "text_bytes": "*i32", "room": "i32"}, {"TILE": CLEAR_TILE})]
