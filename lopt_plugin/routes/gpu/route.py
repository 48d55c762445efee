"""The GPU route: encodes batches with `triton_kernels`; the native route encodes texts that the kernels cannot.

`benchmarks/gpu/RESULTS.md` says where it was faster on an H100, and where not.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...pipeline import Pipeline
from ...settings import logger
from ...triton_kernels.common.limits import MOST_CHUNK_BYTES, SEPARATOR_SHARE
from .. import Ids, RowOffsets
from ..hard_texts import hard_texts
from ..native import NativeRoute
from ..request import PLAIN, Columns, EncodeRequest, NeedsReference, Row
from .crossover import crossover_key, store_crossover
from .device import GpuUnavailableError, find_device, interpreted
from .rows import Chunk, Chunks, Numbers, Part, ids_around, in_order, separators
from .tables import check_supported, host_tables

# Bytes of text computed at a time; meanwhile the next chunk is packed and copied. Buffers take about 40 times as much.
# A text is never divided; a longer one is a chunk of its own, up to LONGEST_BYTES.
CHUNK_BYTES = 1 << 24
LONGEST_BYTES = 1 << 26
CACHE_SLOTS = 1 << 19
# In the interpreter, a small tile takes as long as a large one.
_INTERPRETED_TILE_FACTOR = 16


class GpuRoute:
    """Encodes batches to the same ids as `native`, which takes over what the kernels cannot do.

    That is: texts that the normalizer may change or that are longer than `longest_bytes`; batches for which the device
    has no memory; and everything once the device has failed, which is logged once, or the process has forked. One batch
    is computed at a time; threads wait for each other.

    Raises ValueError if `chunk_bytes` or `longest_bytes` is more than the kernels count; GpuUnavailableError if there
    is no device, the kernels cannot do the pipeline, or the self-check finds other ids than `native` gives.
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
        check_supported(pipeline)
        self.native = native
        self.pattern = pipeline.scanner
        self.chunk_bytes = chunk_bytes
        self.longest_bytes = longest_bytes
        self.failure: str | None = None
        self.texts_on_device = 0
        self.texts_on_host = 0
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._warned_of_memory = False
        try:
            self.device = find_device(device)
            from .batch import DeviceBatch

            tables = host_tables(pipeline, native.core)
            tile_factor = _INTERPRETED_TILE_FACTOR if interpreted() else 1
            self._batch = DeviceBatch(tables, native, self.device, cache_slots, tile_factor)
        except GpuUnavailableError:
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise GpuUnavailableError(reason) from error
        if check:
            self._check([token.content for token in pipeline.added_tokens])

    def encode_batch(self, texts: Sequence[str], request: EncodeRequest) -> tuple[Ids, RowOffsets]:
        ids, row_offsets = self._encode(texts, request, on_host=True)
        return ids.numpy(), row_offsets.numpy()

    def encode_on_device(self, texts: Sequence[str], request: EncodeRequest) -> tuple[Any, Any]:
        """`encode_batch` as torch tensors on the device; on the host if the device has failed or lacks memory."""
        return self._encode(texts, request, on_host=False)

    def encode_columns(self, rows: Sequence[Row], request: EncodeRequest) -> Columns:
        """The ids of each row, which is a single text, for a plain request without offsets."""
        texts = [row for row in rows if isinstance(row, str)]
        found = self.encode_lists(texts, request.split_special_tokens)
        return Columns([self.native.post_processing.finish(ids, request) for ids in found])

    def encode_lists(self, texts: Sequence[str], split_special_tokens: bool) -> list[list[int]]:
        """Ids of each text without those of the post-processor."""
        ids, row_offsets = self.encode_batch(texts, PLAIN[False][split_special_tokens])
        lists: list[list[int]] = self.native.core.lists_of(ids, row_offsets)
        return lists

    def encode_array(self, text: str, request: EncodeRequest) -> Ids:
        return self.encode_batch([text], request)[0]

    def encode_list(self, text: str, request: EncodeRequest) -> list[int]:
        (ids,) = self.encode_lists([text], request.split_special_tokens)
        return self.native.post_processing.finish(ids, request)

    def chunks_of(self, texts: Sequence[str], request: EncodeRequest) -> Chunks:
        """Groups the texts for the device into chunks of about `chunk_bytes`; a text is never split.

        The others go to the host: texts above `longest_bytes`, and those that the normalizer may change. Raises
        NeedsReference for a lone surrogate in one of the latter.
        """
        threads = self.native.threads_for(sum(map(len, texts)))
        to_pack = self.native.core.texts_to_pack(list(texts), threads)
        added = separators(*ids_around(self.native, request))
        # A separator takes a byte of text, and as much space in other buffers as SEPARATOR_SHARE bytes.
        on_device, on_host = to_pack.chunks(added, SEPARATOR_SHARE * added, self.chunk_bytes, self.longest_bytes)
        return Chunks(to_pack, [Chunk(*chunk) for chunk in on_device], on_host, threads)

    def store_crossover(self, size: float | None) -> None:
        """See `crossover`."""
        store_crossover(crossover_key(self.device, self.pattern, self.native.settings.threads), size)

    def info(self) -> dict[str, Any]:
        return {
            "device": str(self.device),
            "failure": self.failure,
            "texts_on_device": self.texts_on_device,
            "texts_on_host": self.texts_on_host,
            **self._batch.info(),
        }

    @property
    def usable(self) -> bool:
        """Whether the device still works, in the process that created the route."""
        return self.failure is None and os.getpid() == self._process

    def _encode(self, texts: Sequence[str], request: EncodeRequest, *, on_host: bool) -> tuple[Any, Any]:
        host = everything = np.arange(len(texts))
        if not self.usable:  # after a fork the lock is not usable either
            self.texts_on_host += len(texts)
            return self._on_host(texts, everything, request)[1:]
        with self._lock:
            try:
                chunks = self.chunks_of(texts, request)
                parts = self._batch.compute(chunks, request, on_host=on_host)
                host = chunks.on_host
            except NeedsReference:
                raise
            except Exception as error:
                self._failed(error)
                parts = []
        if len(host) or not texts:
            parts.append(self._on_host(texts, host, request))
        try:
            with contextlib.nullcontext() if on_host else self._batch.entered():
                result = in_order(parts, "cpu" if on_host or not self.usable else self.device)
        except Exception as error:
            # The device has too little memory for all rows at once, or was lost together with the parts.
            if on_host:
                raise
            with self._lock:
                self._failed(error)
            host = everything
            result = self._on_host(texts, host, request)[1:]
        with self._lock:
            self.texts_on_device += len(texts) - len(host)
            self.texts_on_host += len(host)
        return result

    def _on_host(self, texts: Sequence[str], numbers: Numbers, request: EncodeRequest) -> Part:
        import torch

        arrays = self.native.encode_batch([texts[n] for n in numbers], request)
        return Part(numbers, *map(torch.from_numpy, arrays))

    def _failed(self, error: Exception) -> None:
        import torch

        # Pinned memory and Triton's loading of kernels report a lack of memory with other exception types.
        out_of_memory = isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or (
            isinstance(error, RuntimeError) and "out of memory" in str(error)
        )
        if not out_of_memory:
            if self.failure is None:
                self.failure = f"{type(error).__name__}: {error}"
                logger.error("lopt_plugin: the GPU route failed; using the native route from now on", exc_info=error)
        elif not self._warned_of_memory:
            self._warned_of_memory = True
            logger.warning("lopt_plugin: the GPU is out of memory; the native route encodes such batches: %s", error)
        try:
            self._batch.release()
        except Exception as again:  # in this state the device cannot even free memory
            self.failure = self.failure or f"{type(again).__name__}: {again}"

    def _check(self, added_tokens: Sequence[str]) -> None:
        from ...triton_kernels.merge.kernel import ROWS

        # The last text has a word whose merges involve the host: every kernel is compiled before the first batch.
        texts = [*hard_texts(added_tokens), "xyz" * ROWS[-1]]
        for request in PLAIN[True]:
            found = self.encode_batch(texts, request)
            if self.failure is not None:
                raise GpuUnavailableError(f"the self-check failed: {self.failure}")
            expected = self.native.encode_batch(texts, request)
            if not (np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])):
                reason = "the self-check found ids that differ from the native route's"
                logger.error("lopt_plugin: %s; the GPU is not used. Please report this tokenizer", reason)
                raise GpuUnavailableError(reason)
        if not self.texts_on_device:
            raise GpuUnavailableError("the self-check encoded nothing on the device")
