"""The GPU route: batches of texts by `triton_kernels`, with the native route for the texts that these cannot do.

Nothing of it has run on a GPU yet: it was tested in Triton's interpreter, and its kernels compiled.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..pipeline import BytePairModel, Pipeline
from ..self_check import hard_texts
from ..triton_kernels.limits import MOST_CHUNK_BYTES
from . import Ids, RowOffsets
from .device.availability import DeviceUnavailableError, device_name, find_device, interpreted
from .device.chunks import Chunker, ChunkLoop
from .device.crossover import Crossover, crossover_of
from .device.packing import Around
from .device.rows import Part, from_host, in_order
from .device.tables import host_tables, unsupported
from .native import NativeRoute

logger = logging.getLogger("lopt_plugin")

# Bytes of text that are computed at a time: while one such chunk is, the next one is packed and copied. The buffers
# take about 40 times as much. A text is never cut; one that is longer is a chunk of its own, up to LONGEST_BYTES.
CHUNK_BYTES = 1 << 24
LONGEST_BYTES = 1 << 26
CACHE_SLOTS = 1 << 17
# The interpreter takes as long for a small tile as for a large one.
_TILE_FACTOR = 16


class GpuUnavailableError(Exception):
    """The GPU route cannot be had for this tokenizer or on this machine; the message says why."""


class GpuRoute:
    """Ids of batches of texts, those of `native`, which does what the kernels cannot do.

    That is: texts that the normalizer may change, or that are longer than `longest_bytes`; and everything once the
    device fails, which is said once in the log. One batch is computed at a time; threads wait for each other. After a
    fork, the native route does all the work.

    Raises ValueError for more bytes than the kernels count; GpuUnavailableError where there is no device, where the
    kernels cannot do the pipeline, and where they give other ids than `native` for the hard texts of the self-check.
    """

    name = "gpu"

    def __init__(
        self,
        pipeline: Pipeline,
        native: NativeRoute,
        *,
        device: Any = None,
        chunk_bytes: int = CHUNK_BYTES,
        longest_bytes: int = LONGEST_BYTES,
        cache_slots: int = CACHE_SLOTS,
        check: bool = True,
    ) -> None:
        if min(chunk_bytes, longest_bytes) <= 0 or max(chunk_bytes, longest_bytes) > MOST_CHUNK_BYTES:
            raise ValueError(f"chunk_bytes={chunk_bytes}, longest_bytes={longest_bytes}: 1 to {MOST_CHUNK_BYTES}")
        reason = unsupported(pipeline)
        if reason is not None:
            raise GpuUnavailableError(reason)
        self.native = native
        self.pattern = pipeline.scanner
        self.chunker = Chunker(pipeline, native.core, chunk_bytes, longest_bytes)
        self.failure: str | None = None
        self.texts_on_device = 0
        self.texts_on_host = 0
        self._around = Around(pipeline.post_processor.prefix_ids, pipeline.post_processor.suffix_ids)
        self.crossover: Crossover | None = None
        self._crossover_lock = threading.Lock()
        self._words = _words(pipeline)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._said_out_of_memory = False
        try:
            self.device = find_device(device)
            from .device.batch import DeviceBatch

            self._batch = DeviceBatch(
                host_tables(pipeline, native.core),
                native.pack,
                self.device,
                cache_slots,
                _TILE_FACTOR if interpreted() else 1,
            )
        except (DeviceUnavailableError, ValueError) as error:
            raise GpuUnavailableError(str(error)) from error
        except Exception as error:
            raise GpuUnavailableError(f"{type(error).__name__}: {error}") from error
        if check:
            self._check([token.content for token in pipeline.added_tokens])

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> tuple[Ids, RowOffsets]:
        """Ids of all texts, int32 [n], and where each begins, int64 [len(texts) + 1], on the host."""
        ids, row_offsets = self._encode(texts, add_special_tokens, split_special_tokens, on_host=True)
        return ids.numpy(), row_offsets.numpy()

    def encode_on_device(
        self, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> tuple[Any, Any]:
        """The same as torch tensors on the device; on the host where the device has failed or has no room for them."""
        return self._encode(texts, add_special_tokens, split_special_tokens, on_host=False)

    def text_lists(self, texts: Sequence[str], split_special_tokens: bool) -> list[list[int]]:
        """Ids of each text, without those of the post-processor."""
        ids, row_offsets = self.encode_batch(texts, False, split_special_tokens)
        list_of = self.native.core.list_of
        return [list_of(ids[begin:end]) for begin, end in pairwise(row_offsets.tolist())]

    def encode_array(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> Ids:
        """Ids of one text, int32 [n]; it is not cut, so all of the device works on it."""
        return self.encode_batch([text], add_special_tokens, split_special_tokens)[0]

    def encode_list(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> list[int]:
        return self.encode_limited(text, add_special_tokens, split_special_tokens, None, False)

    def encode_limited(
        self, text: str, add_special_tokens: bool, split_special_tokens: bool, limit: int | None, keep_end: bool
    ) -> list[int]:
        """As AcceleratedRoute has it; all of the text is encoded."""
        ids: list[int] = self.native.core.list_of(self.encode_array(text, False, split_special_tokens))
        return self.native.finished(ids, add_special_tokens, limit, keep_end)

    def measured_crossover(self) -> Crossover:
        """From how many bytes on this route is sooner than `native`; measured, or read, at the first call."""
        with self._crossover_lock:
            if self.crossover is None:
                key = f"{device_name(self.device)}; {self.pattern}; {self.native.settings.threads} threads"
                self.crossover = crossover_of(self, self.native, self._words, key)
            return self.crossover

    def info(self) -> dict[str, Any]:
        return {
            "device": str(self.device),
            "failure": self.failure,
            "texts_on_device": self.texts_on_device,
            "texts_on_host": self.texts_on_host,
            "crossover": None if self.crossover is None else self.crossover.info(),
            **self._batch.info(),
        }

    def _encode(
        self, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool, *, on_host: bool
    ) -> tuple[Any, Any]:
        everything = range(len(texts))
        if not self.usable:  # nor is the lock, after a fork
            self.texts_on_host += len(texts)
            return self._on_host(texts, everything, add_special_tokens, split_special_tokens)[1:]
        host: list[int] = []
        around = self._around if add_special_tokens else Around()
        with self._lock:
            loop = ChunkLoop(self._batch, on_host, lambda: self.usable, self._failed)
            chunks = self.chunker.chunks(texts, around, host)
            loop.run(chunks, texts, around, host, split_special_tokens=split_special_tokens)
        parts = loop.parts
        if host or not texts:
            host.sort()
            parts.append(self._on_host(texts, host, add_special_tokens, split_special_tokens))
        try:
            result = in_order(parts, len(texts), "cpu" if on_host or not self.usable else self.device)
        except Exception as error:
            # The device has no memory left for all rows at once, or was lost with what lay there.
            if on_host:
                raise
            with self._lock:
                self._failed(error)
            host = list(everything)
            result = self._on_host(texts, host, add_special_tokens, split_special_tokens)[1:]
        with self._lock:
            self.texts_on_device += len(texts) - len(host)
            self.texts_on_host += len(host)
        return result

    def _on_host(
        self, texts: Sequence[str], numbers: Sequence[int], add_special_tokens: bool, split_special_tokens: bool
    ) -> Part:
        asked = [texts[n] for n in numbers]
        return from_host(numbers, *self.native.encode_batch(asked, add_special_tokens, split_special_tokens))

    @property
    def usable(self) -> bool:
        """Whether the device still does the work."""
        return self.failure is None and os.getpid() == self._process

    def _failed(self, error: Exception) -> None:
        import torch

        from ..triton_kernels.merge.kernel_long import UnfinishedMergesError

        if isinstance(error, UnfinishedMergesError):
            logger.info("lopt_plugin: the native route does a batch that the GPU route gave up: %s", error)
            self._batch.discard()
            return
        # Pinned memory, and what Triton loads its kernels into, are refused with errors of other kinds.
        out_of_memory = isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or (
            isinstance(error, RuntimeError) and "out of memory" in str(error)
        )
        if not out_of_memory:
            if self.failure is None:
                self.failure = f"{type(error).__name__}: {error}"
                logger.error(
                    "lopt_plugin: the GPU route failed; the native route does its work from now on", exc_info=error
                )
        elif not self._said_out_of_memory:
            self._said_out_of_memory = True
            logger.warning("lopt_plugin: the native route does batches for which the device has no memory: %s", error)
        try:
            self._batch.release()
        except Exception as again:  # a device in such a state does not even give memory back
            self.failure = self.failure or f"{type(again).__name__}: {again}"

    def _check(self, added_tokens: Sequence[str]) -> None:
        from ..triton_kernels.merge.kernel import ROWS

        # And a word in whose merges the host takes part: all that a batch may need is compiled before the first one.
        texts = [*hard_texts(added_tokens), "xyz" * ROWS[-1]]
        for split_special_tokens in (False, True):
            found = self.encode_batch(texts, True, split_special_tokens)
            if self.failure is not None:
                raise GpuUnavailableError(f"the self-check failed: {self.failure}")
            expected = self.native.encode_batch(texts, True, split_special_tokens)
            if not (np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])):
                reason = "the self-check found other ids than the native route's"
                logger.error("lopt_plugin: %s; the GPU is not used. Please report this tokenizer", reason)
                raise GpuUnavailableError(reason)
        if not self.texts_on_device:
            raise GpuUnavailableError("nothing of the self-check was done on the device")


def _words(pipeline: Pipeline) -> list[str]:
    """Some of the vocabulary, to make texts of."""
    assert isinstance(pipeline.model, BytePairModel)
    return [*itertools.islice((name for name in pipeline.model.vocabulary if name.isascii() and name.isalpha()), 4096)]
