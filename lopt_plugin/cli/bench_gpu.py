"""lopt bench --gpu: the size of a batch from which the GPU is faster than all CPUs, measured and stored."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from ..pipeline import Unsupported, read_pipeline
from ..routes.gpu.device import GpuUnavailableError, device_name, interpreted
from ..routes.gpu.route import GpuRoute
from ..routes.hf import HfRoute
from ..routes.native import NativeRoute
from ..routes.request import PLAIN
from ..settings import Settings
from .benchmarking.machine import machine_line
from .output import DIFFERENT, CommandError, print_line, progress_bar, results
from .texts import built_in_hard_texts, built_in_prose, first_chars

SIZES = [1 << power for power in range(14, 25)]  # characters of a batch
TEXT_CHARS = 4096
_RUNS = 5
_INTERPRETED_MOST_CHARS = 1 << 14  # Triton's interpreter takes seconds for a kilobyte
_PART_CHARS = 20_000


class Timing(NamedTuple):
    """Seconds of a batch of `size` characters, to arrays and to lists of ids."""

    size: int
    gpu_array: float
    native_array: float
    gpu_lists: float
    native_lists: float


def crossover_of(timings: Sequence[Timing]) -> int | None:
    """The size from which the GPU is faster at every larger size too, to arrays and to lists; None if it never is."""
    found = None
    for size, gpu_array, native_array, gpu_lists, native_lists in timings:
        found = (found or size) if gpu_array < native_array and gpu_lists < native_lists else None
    return found


def bench_gpu(tokenizer: Any, files: Sequence[str], field: str, threads: int, most_chars: int) -> None:
    """Measures, prints a table, and stores the crossover. Raises CommandError."""
    backend = tokenizer.backend_tokenizer
    most = min(most_chars, _INTERPRETED_MOST_CHARS if interpreted() else SIZES[-1])
    text = first_chars(files, field, most) if files else _built_in(tokenizer, most)
    if not text:
        raise CommandError("the files have no text")
    sizes = [size for size in SIZES if size <= len(text)] or [len(text)]
    try:
        pipeline = read_pipeline(backend)
        # Without a prefix cache: every size begins with the same text.
        route = GpuRoute(pipeline, NativeRoute(pipeline, Settings.read(threads=threads, prefix_cache_mb=0)))
    except (GpuUnavailableError, Unsupported) as error:
        hint = "pip install 'lopt-plugin[gpu]'" if "not installed" in str(error) else ""
        raise CommandError(f"the GPU cannot be measured: {error}", hint=hint) from None
    print_line(machine_line())
    print_line(f"GPU: {device_name(route.device)}")
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=len(sizes), rate="")
        timings = []
        for timing in time_batches(route, HfRoute(backend), text, sizes):
            timings.append(timing)
            bar.update(task, advance=1, rate=f"{timing.size:,} characters")
    results().print(_table(timings, threads))
    crossover = crossover_of(timings)
    outcome = (
        f"not faster up to {sizes[-1]:,} characters"
        if crossover is None
        else f"faster from {crossover:,} characters on"
    )
    if interpreted():
        print_line("Triton's interpreter is no GPU: nothing is stored.")
        return
    route.store_crossover(crossover)
    print_line(f"all ids equal; the GPU is {outcome}, which is stored for this machine")


def time_batches(route: GpuRoute, reference: HfRoute, text: str, sizes: Sequence[int]) -> Iterator[Timing]:
    """The times of batches of these sizes, cut from the text. Raises CommandError before timing wrong ids."""
    request, native = PLAIN[False][False], route.native
    for size in sizes:
        texts = [text[begin : min(begin + TEXT_CHARS, size)] for begin in range(0, size, TEXT_CHARS)]
        expected, ends = reference.encode_batch(texts, request)
        for ids, row_offsets in (route.encode_batch(texts, request), native.encode_batch(texts, request)):
            if not (np.array_equal(ids, expected) and np.array_equal(row_offsets, ends)):
                raise CommandError(f"the ids of {size:,} characters differ from Hugging Face's", DIFFERENT)
        if route.failure is not None:
            raise CommandError(f"the GPU failed: {route.failure}", DIFFERENT)
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


def _built_in(tokenizer: Any, chars: int) -> str:
    """Prose and code, with hard texts of many scripts between."""
    prose, hard = built_in_prose(chars), cycle(built_in_hard_texts(tokenizer))

    def parts() -> Iterable[str]:
        for begin in range(0, len(prose), _PART_CHARS):
            yield prose[begin : begin + _PART_CHARS]
            yield from (sample.text for sample in islice(hard, 10))

    return "\n".join(parts())[:chars]


def _table(timings: Sequence[Timing], threads: int) -> Table:
    made = Table("characters", title=f"batches on the GPU and on the CPUs ({threads} threads), ms")
    for column in ("GPU, arrays", "CPUs, arrays", "GPU, lists", "CPUs, lists"):
        made.add_column(column, justify="right")
    for timing in timings:
        made.add_row(f"{timing.size:,}", *(f"{1e3 * one:.3f}" for one in timing[1:]))
    return made
