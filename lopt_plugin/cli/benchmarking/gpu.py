"""Times batches on the GPU and on all CPUs, to find the size from which the GPU is faster on this machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from ...pipeline import read_pipeline
from ...routes.gpu.route import GpuRoute
from ...routes.hf import HfRoute
from ...routes.native import NativeRoute
from ...routes.request import PLAIN
from ...settings import Settings

SIZES = [1 << power for power in range(14, 25)]  # characters of a batch
TEXT_CHARS = 4096
_RUNS = 5


class Timing(NamedTuple):
    """Seconds of a batch of `size` characters, to arrays and to lists of ids."""

    size: int
    gpu_array: float
    native_array: float
    gpu_lists: float
    native_lists: float

    @property
    def gpu_is_faster(self) -> bool:
        """To arrays and to lists."""
        return self.gpu_array < self.native_array and self.gpu_lists < self.native_lists


class WrongIdsError(Exception):
    """A route found other ids than Hugging Face."""


def crossover_of(timings: Sequence[Timing]) -> int | None:
    """The size from which the GPU is faster at every larger size too; None if it is not faster at the largest."""
    found = None
    for timing in timings:
        found = (found or timing.size) if timing.gpu_is_faster else None
    return found


def make_route(tokenizer: Tokenizer, threads: int) -> GpuRoute:
    """A GPU route whose kernels are compiled, beside a native route with this many threads.

    Raises Unsupported if the native route, or GpuUnavailableError if the GPU, cannot encode for this tokenizer.
    """
    pipeline = read_pipeline(tokenizer)
    # Without a prefix cache: every size begins with the same text.
    native = NativeRoute(pipeline, Settings.read(threads=threads, prefix_cache_mb=0))
    return GpuRoute(pipeline, native)


def time_batches(route: GpuRoute, tokenizer: Tokenizer, text: str, sizes: Sequence[int]) -> Iterator[Timing]:
    """The times of batches of these sizes, cut from the text. Raises WrongIdsError before timing wrong ids."""
    request, native = PLAIN[False][False], route.native
    reference = HfRoute(tokenizer)
    for size in sizes:
        texts = [text[begin : min(begin + TEXT_CHARS, size)] for begin in range(0, size, TEXT_CHARS)]
        expected, ends = reference.encode_batch(texts, request)
        for ids, row_offsets in (route.encode_batch(texts, request), native.encode_batch(texts, request)):
            if not (np.array_equal(ids, expected) and np.array_equal(row_offsets, ends)):
                raise WrongIdsError(f"the ids of {size:,} characters differ from Hugging Face's")
        if route.failure is not None:
            raise WrongIdsError(f"the GPU failed: {route.failure}")
        yield Timing(
            size,
            _seconds(route.encode_batch, texts, request),
            _seconds(native.encode_batch, texts, request),
            _seconds(route.encode_lists, texts, False),
            _seconds(native.encode_lists, texts, False),
        )


def _seconds(work: Callable[..., object], *arguments: object) -> float:
    """The median of a few runs."""
    taken = []
    for _ in range(_RUNS):
        begin = time.perf_counter()
        work(*arguments)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)
