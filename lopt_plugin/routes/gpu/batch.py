"""Runs batches through the kernels: packs, copies to the device, pre-tokenizes, encodes, copies back."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ...triton_kernels.batch import buffers as device_batch, text_to_words
from ...triton_kernels.batch.buffers import ASIDE, CLAIMED, ID_COUNT, WORD_COUNT, Batch, Scratch, bucket_of
from ...triton_kernels.batch.words_to_ids import Tables, WordsToIds
from ...triton_kernels.common.device_words import PADDING
from ...triton_kernels.common.limits import MASK_TILE
from ..native import NativeRoute
from ..request import EncodeRequest
from .cuda_graphs import Graphs, beside_recordings
from .rows import Chunk, Chunks, DeviceRows, HostRows, Numbers, Part, ids_around, separators
from .streams import LANES, CudaStream, HostStream, Lane
from .tables import HostTables

# Ids are fetched together with a batch's counters, before their number is known: as a share of its bytes, a tenth more
# than the largest share in earlier batches. Missing ids are fetched afterwards.
_FIRST_SHARE = 0.4
_SPARE = 1.1


@dataclass(frozen=True)
class Sent:
    """A batch in flight.

    rows: the number of rows. expected: how many ids are fetched before their number is known.
    scratch: its kernels' scratch memory, unchanged until another batch is launched.
    """

    lane: int
    bucket: int
    scratch: Scratch
    text_bytes: int
    rows: int
    expected: int


class DeviceBatch:
    """Tables, buffers and word cache of one vocabulary on one device.

    A batch is sent, launched, settled and taken, in this order; another may be sent before it is settled, and launched
    before it is taken. After an exception call `discard`. For one thread at a time, within `entered`; `compute` does
    all of that.

    native: the route of the same pipeline, whose core packs texts.
    observe: for measurements; called with the name of each stage when its kernels are launched. Turns recording off.
    """

    def __init__(
        self, tables: HostTables, native: NativeRoute, device: torch.device, cache_slots: int, tile_factor: int
    ) -> None:
        self.device = device
        self.observe: Callable[[str], None] | None = None
        self.graphs = Graphs(enabled=device.type == "cuda")
        self._native = native
        self._pattern = tables.pattern
        self._tile = min(tile_factor, 4) * MASK_TILE
        self._share = _FIRST_SHARE
        self._in_flight: set[int] = set()
        with self.entered():
            self._stream = CudaStream(device) if device.type == "cuda" else HostStream()
            with self._stream.current():
                self._pages = torch.from_numpy(tables.kinds.pages).to(device)
                self._cells = torch.from_numpy(tables.kinds.cells.copy()).to(device)
                on_device = Tables.on(device, tables.entries, tables.pairs)
                self._words = WordsToIds(on_device, device, cache_slots, tile_factor)
        self._lanes = [Lane(self._stream) for _ in range(LANES)]
        self._scratch: Scratch | None = None
        self._scratch_within: dict[int, Scratch] = {}

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Makes the device the current one, also while other threads record graphs."""
        if self.device.type == "cuda":
            with torch.cuda.device(self.device), beside_recordings():
                yield
        else:
            yield

    def compute(self, chunks: Chunks, request: EncodeRequest, *, on_host: bool) -> list[Part]:
        """The rows of all chunks: on the host in one part, on the device in one for each chunk.

        Each chunk is packed and copied while the one before it is computed, and computed while the ids of that one are
        taken. After an error nothing is in flight.
        """
        added = separators(*ids_around(self._native, request))
        most = sum(utf8_bytes + added * len(numbers) for numbers, utf8_bytes in chunks.on_device)
        rows = HostRows(most) if on_host else DeviceRows()
        before: tuple[Chunk, Sent] | None = None
        with self.entered():
            try:
                for chunk in chunks.on_device:
                    sent = self.send(chunks, chunk, request)
                    if before:
                        self.settle(before[1], on_host=on_host)
                    self.launch(sent, on_host=on_host)
                    if before:
                        self.take(before[1], before[0].numbers, rows)
                    before = chunk, sent
                if before:
                    self.settle(before[1], on_host=on_host)
                    self.take(before[1], before[0].numbers, rows)
            except BaseException:
                with contextlib.suppress(Exception):  # the device may be lost
                    self.discard()
                raise
        return rows.parts()

    def send(self, chunks: Chunks, chunk: Chunk, request: EncodeRequest) -> Sent:
        """Pack one of the chunks, and copy it to the device.

        Raises NeedsReference for a lone surrogate, before using the device.
        """
        number = next(lane for lane in range(LANES) if lane not in self._in_flight)
        lane = self._lanes[number]
        around, split = ids_around(self._native, request), request.split_special_tokens
        rows = len(chunk.numbers)
        staged = lane.room_for(chunk.utf8_bytes + rows * separators(*around))
        text_bytes, *found = chunks.texts.pack(chunk.numbers, staged, *around, split, chunks.threads)
        words = -(-(text_bytes + PADDING) // 8)
        staged[text_bytes : 8 * words] = 0
        self._observed("pack")
        bucket = bucket_of(text_bytes, len(found[0]))
        scratch = self._make_room(number, bucket)
        batch = lane.batch(bucket)
        sizes, *numbers = lane.numbers([len(of) for of in found])
        sizes.numpy()[:] = text_bytes, len(found[0]), rows
        self._in_flight.add(number)
        copies = [(batch.text_words[:words], lane.staging[:words]), (batch.sizes, sizes)]
        # Positions and ids of the separators, and which of these end a row.
        for target, pinned, of in zip((batch.positions, batch.token_ids, batch.row_ends), numbers, found, strict=True):
            pinned.numpy()[:] = of
            copies.append((target[: len(of)], pinned))
        self._stream.queue(number, copies)
        self._observed("copy")
        expected = min(int(self._share * text_bytes) + 64, bucket, len(lane.ids))
        return Sent(number, bucket, scratch, text_bytes, rows, expected)

    def launch(self, sent: Sent, *, on_host: bool) -> None:
        """Start the kernels, and with `on_host` the copies of the results to the host. Does not wait."""
        lane = self._lanes[sent.lane]
        batch, scratch = lane.batch(sent.bucket), sent.scratch

        def start() -> None:
            self._words.make_room()
            if self.observe is None:
                self.graphs.run((sent.bucket, sent.lane), lambda: self._compute(batch, scratch))
            else:
                self._compute(batch, scratch)

        results = self._results(sent, 0, sent.expected) if on_host else []
        self._stream.queue(sent.lane, [(lane.counters, batch.counters), *results], start)

    def settle(self, sent: Sent, *, on_host: bool) -> None:
        """Wait for a batch, and have the native core merge its longest words. Another may be launched then.

        `on_host` must be the same as for `launch`. Raises any error of the device.
        """
        lane = self._lanes[sent.lane]
        batch, expected = lane.batch(sent.bucket), sent.expected
        self._stream.wait(sent.lane)
        counters = lane.counters.tolist()
        aside = counters[ASIDE]
        self._words.claimed(counters[CLAIMED])
        if aside:
            work = functools.partial(self._words.finish_aside, batch, sent.scratch, aside, self._encoder(lane))
            self._stream.queue(sent.lane, [(lane.counters, batch.counters)], work)
            self._stream.wait(sent.lane)
            counters, expected = lane.counters.tolist(), 0
        ids = counters[ID_COUNT]
        self._share = max(self._share, _SPARE * ids / sent.text_bytes)
        if on_host and expected < ids <= len(lane.ids):
            self._stream.queue(sent.lane, self._results(sent, expected, ids))
            self._stream.wait(sent.lane)

    def take(self, sent: Sent, numbers: Numbers, rows: HostRows | DeviceRows) -> None:
        """Add a settled batch, the rows of these numbers; nothing of it is used afterwards."""
        lane = self._lanes[sent.lane]
        ids, on_host = int(lane.counters[ID_COUNT]), isinstance(rows, HostRows)
        # Pinned memory may have no room for so many ids.
        source = lane if on_host and ids <= len(lane.ids) else lane.batch(sent.bucket)
        rows.add(numbers, source.ids[:ids], source.row_offsets[: sent.rows + 1])
        if not on_host:
            self._stream.taken(sent.lane)
        self._in_flight.discard(sent.lane)

    def discard(self) -> None:
        """Wait for batches in flight, and drop them and the word cache, which may hold words without their merges."""
        self._in_flight.clear()
        self._stream.wait_for_all()
        with self._stream.current():
            self._words.empty_cache()

    def release(self) -> None:
        """Free the buffers and empty the word cache."""
        self.discard()
        self.graphs.clear()
        self._scratch = None
        self._scratch_within.clear()
        self._lanes = [Lane(self._stream) for _ in range(LANES)]
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def info(self) -> dict[str, Any]:
        buffers = sum(lane.bytes() for lane in self._lanes)
        buffers += 0 if self._scratch is None else self._scratch.bytes()
        return {
            "workspace_bytes": buffers,
            "table_bytes": {**self._words.tables.bytes(), "word_cache": self._words.cache.bytes()},
            "cached_words": self._words.cached_words,
            "graphs": self.graphs.info(),
        }

    def _compute(self, batch: Batch, scratch: Scratch) -> None:
        """Launch all kernels of a batch and do nothing else, because the launches are recorded."""
        device_batch.clear(batch)
        text_to_words.word_starts_of(
            batch.text_words, batch.bucket, self._pages, self._cells, self._pattern, scratch.word_starts,
            batch.counter(WORD_COUNT), scratch.of_text, self._tile, self._observed,
        )  # fmt: skip
        self._words.launch(batch, scratch, self._observed)

    def _encoder(self, lane: Lane) -> Callable[[Any, Any], tuple[Any, Any]]:
        """BPE of pre-tokens in the text of a lane, by the native core and all its threads."""
        text = lane.staging.view(torch.uint8).numpy()

        def encode(begins: Any, ends: Any) -> tuple[Any, Any]:
            threads = self._native.threads_for(int((ends - begins).sum()))
            ids, counts = self._native.core.encode_pre_tokens(text, begins, ends, threads)
            return ids, counts

        return encode

    def _results(self, sent: Sent, begin: int, end: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        lane = self._lanes[sent.lane]
        batch, rows = lane.batch(sent.bucket), sent.rows + 1
        return [(lane.ids[begin:end], batch.ids[begin:end]), (lane.row_offsets[:rows], batch.row_offsets[:rows])]

    def _make_room(self, number: int, bucket: int) -> Scratch:
        """Scratch memory for a bucket; allocates larger buffers if needed."""
        lane = self._lanes[number]
        if self._scratch is None or self._scratch.bucket < bucket or lane.capacity < bucket:
            # Recordings hold the addresses of buffers, and batches in flight use them.
            self._stream.wait_for_all()
            self.graphs.clear()
            with self._stream.current():
                lane.grow(bucket, self.device)
                if self._scratch is None or self._scratch.bucket < bucket:
                    self._scratch = None
                    self._scratch_within.clear()
                    self._scratch = Scratch.empty(bucket, self.device, self._tile)
        if bucket not in self._scratch_within:
            self._scratch_within[bucket] = self._scratch.within(bucket)
        return self._scratch_within[bucket]

    def _observed(self, stage: str) -> None:
        if self.observe is not None:
            self.observe(stage)
