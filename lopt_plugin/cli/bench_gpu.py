"""lopt bench --gpu: the size of a batch from which the GPU is faster than all CPUs, measured and stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import Any

from rich.table import Table

from ..pipeline import Unsupported
from ..routes.gpu.device import GpuUnavailableError, device_name, interpreted
from .benchmarking.gpu import SIZES, Timing, WrongIdsError, crossover_of, make_route, time_batches
from .benchmarking.machine import machine_line
from .output import DIFFERENT, CommandError, print_line, progress_bar, results
from .texts import built_in_hard_texts, built_in_prose, first_chars

_INTERPRETED_MOST_CHARS = 1 << 14  # Triton's interpreter takes seconds for a kilobyte
_PART_CHARS = 20_000


def bench_gpu(tokenizer: Any, files: Sequence[str], field: str, threads: int, most_chars: int) -> None:
    """Measures, prints a table, and stores the crossover. Raises CommandError."""
    backend = tokenizer.backend_tokenizer
    most = min(most_chars, SIZES[-1], _INTERPRETED_MOST_CHARS if interpreted() else SIZES[-1])
    text = first_chars(files, field, most) if files else _built_in(tokenizer, most)
    if not text:
        raise CommandError("the files have no text")
    sizes = [size for size in SIZES if size <= len(text)] or [len(text)]
    try:
        route = make_route(backend, threads)
    except (GpuUnavailableError, Unsupported) as error:
        hint = "pip install 'lopt-plugin[gpu]'" if "not installed" in str(error) else ""
        raise CommandError(f"the GPU cannot be measured: {error}", hint=hint) from None
    print_line(machine_line())
    print_line(f"GPU: {device_name(route.device)}")
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=len(sizes), rate="")
        timings = []
        try:
            for timing in time_batches(route, backend, text, sizes):
                timings.append(timing)
                bar.update(task, advance=1, rate=f"{timing.size:,} characters")
        except WrongIdsError as error:
            raise CommandError(str(error), DIFFERENT) from None
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


def _built_in(tokenizer: Any, chars: int) -> str:
    """Prose and code, with hard texts of many scripts between."""
    prose = built_in_prose(chars)
    hard = cycle(built_in_hard_texts(tokenizer))

    def parts() -> Iterable[str]:
        for begin in range(0, len(prose), _PART_CHARS):
            yield prose[begin : begin + _PART_CHARS]
            yield from (sample.text for sample in islice(hard, 10))

    return "\n".join(parts())[:chars]


def _table(timings: Sequence[Timing], threads: int) -> Table:
    made = Table("characters", title=f"batches on the GPU and on the CPUs ({threads} threads), ms")
    columns = ("GPU, arrays", "CPUs, arrays", "GPU, lists", "CPUs, lists")
    for column in columns:
        made.add_column(column, justify="right")
    for timing in timings:
        made.add_row(f"{timing.size:,}", *(f"{1e3 * one:.3f}" for one in timing[1:]))
    return made
