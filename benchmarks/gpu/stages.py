"""The stages of the GPU route, each by itself, beside the least time that any version of it would take.

That is the time for the bytes it must move, or for the instructions that it has. Bytes: each input read once and each
output written once, by the module docstrings of the kernels, over the bandwidth of a copy on the same device. Tables
are read from the L2 cache, so they do not count. Instructions: those of the compiled kernels, each counted once, over
what the device issues: an estimate, as loops may run longer, and branches may not be taken.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common.report import Table
from benchmarks.gpu.routes import Routes, texts_of
from lopt_plugin.routes.gpu.device import interpreted
from lopt_plugin.routes.gpu.rows import DeviceRows
from lopt_plugin.routes.request import PLAIN

_MEGA = 1_000_000
_COPY_BYTES = 1 << 30
_ISSUED_A_CYCLE = 4  # warps, by each multiprocessor


@dataclass(frozen=True)
class Device:
    """bandwidth: bytes a second, read and written together; issues: instructions of a warp a second; None: unknown."""

    name: str
    cache_bytes: int | None = None
    bandwidth: float | None = None
    issues: float | None = None
    architecture: int | None = None


def device_of(device: Any) -> Device:
    """What the device can do; its copy is measured."""
    if interpreted():
        return Device("Triton's interpreter, no GPU: no figure here says anything about speed")
    import torch

    properties = torch.cuda.get_device_properties(device)
    size = min(_COPY_BYTES, properties.total_memory // 8)
    source = torch.randint(0, 256, (size,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(10):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) / 1e3)
    hertz = _clock()
    issues = None if hertz is None else properties.multi_processor_count * _ISSUED_A_CYCLE * hertz
    cache = getattr(properties, "L2_cache_size", None)
    return Device(
        properties.name, cache, 2 * size / sorted(seconds)[5], issues, properties.major * 10 + properties.minor
    )


def _clock() -> float | None:
    """The highest clock of the multiprocessors, Hz, from nvidia-smi; None without that."""
    command = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
        return float(said.split()[0]) * 1e6
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


@dataclass(frozen=True)
class Amounts:
    """A batch: bytes of text, words, missed words, words that are merged, ids."""

    text: int
    words: int
    missed: int
    merged: int
    ids: int


def least_bytes(stage: str, of: Amounts) -> int:
    """Bytes that a stage must read and write in the device's memory; 0 for stages that run on the host."""
    return {
        "copy": of.text,
        "boundaries": of.text + of.text // 8,
        "compact": of.text // 8 + 4 * of.words,
        "lookup": of.text + 8 * of.words + 4 * of.missed,
        "cache and merges": 12 * of.missed + 64 * of.merged,
        "emit": 16 * of.words + 4 * of.ids,
    }.get(stage, 0)


def least_instructions(stage: str, of: Amounts, pattern: str, count: Callable[[Any], int | None]) -> float | None:
    """Instructions of warps that a stage has; None where that is not known."""
    from lopt_plugin.triton_kernels.compact import kernel as compact
    from lopt_plugin.triton_kernels.inspection.instructions import of_pattern, stages_of
    from lopt_plugin.triton_kernels.lookup import kernel as lookup

    variants, items = {
        "boundaries": ([v for kernels in stages_of(pattern).values() for v in kernels], of.text),
        "compact": (compact.variants(), of.text),
        "lookup": (lookup.variants(), of.words),
    }.get(stage, ([], 0))
    counts = [(count(variant), variant) for variant in of_pattern(variants, pattern)]
    if not counts or any(found is None for found, _ in counts):
        return None
    return sum((found or 0) * v.warps * items / v.constants["TILE"] for found, v in counts)


def counter(device: Device) -> Callable[[Any], int | None]:
    """Counts the instructions of a `Variant`, compiled for the device; None without one or without the tools."""
    from lopt_plugin.triton_kernels.inspection import compiled
    from lopt_plugin.triton_kernels.inspection.instructions import instructions

    reader, architecture = compiled.reader(), device.architecture
    if architecture is None or reader is None:
        return lambda variant: None

    def count(variant: Any) -> int | None:
        try:
            return instructions(compiled.compiled(variant, architecture).asm["cubin"], reader)
        except Exception:
            return None

    return count


def table_of_stages(routes: Routes, corpus: str, device: Device, given: argparse.Namespace) -> Table:
    """Each stage by itself, waited for; words that are not in the vocabulary are in the cache from the run before."""
    texts = texts_of(corpus, given.corpora, min(given.bytes, routes.gpu.chunk_bytes // 4))
    routes.compare(texts)
    found, amounts = _stages(routes, texts, given.repeat)
    count = counter(device)
    found["all on the device"] = sum(taken for stage, taken in found.items() if stage not in ("sizes", "pack", "copy"))
    rows = []
    for stage, taken in found.items():
        moved = least_bytes(stage, amounts)
        by_bytes = None if device.bandwidth is None or not moved or stage == "copy" else moved / device.bandwidth
        issued = least_instructions(stage, amounts, routes.pipeline.scanner, count) if device.issues else None
        by_issues = None if issued is None or device.issues is None else issued / device.issues
        floor = max((one for one in (by_bytes, by_issues) if one is not None), default=None)
        rows.append(
            [
                stage,
                f"{1e3 * taken:.3f}",
                f"{amounts.text / taken / 1e9:.2f}",
                *(("-" if one is None else f"{1e3 * one:.3f}") for one in (by_bytes, by_issues)),
                "-" if floor is None else f"{taken / floor:.1f}",
            ]
        )
    columns = ["stage", "ms", "GB/s", "floor by bytes, ms", "by instructions, ms", "times the floor"]
    title = (
        f"{routes.name}, {corpus}: stages, {amounts.text:,} bytes, {amounts.words:,} words, {amounts.missed:,} missed"
    )
    return Table(
        columns, rows, title, remarks=["each stage is launched and waited for; in a recorded batch there are no gaps"]
    )


def _stages(routes: Routes, texts: Sequence[str], repeats: int) -> tuple[dict[str, float], Amounts]:
    found: dict[str, list[float]] = {}
    batch = routes.gpu._batch
    amounts = Amounts(0, 0, 0, 0, 0)
    last = 0.0

    def observe(stage: str) -> None:
        nonlocal last
        batch._stream.wait_for_all()
        now = time.perf_counter()
        found.setdefault(stage, []).append(now - last)
        last = now

    batch.observe = observe
    try:
        with batch.entered():
            for _ in range(repeats + 1):
                last = time.perf_counter()
                chunks = routes.in_one_chunk(texts)
                observe("sizes")
                (chunk,) = chunks.on_device
                sent = batch.send(chunks, chunk, PLAIN[False][False])
                batch.launch(sent, on_host=False)
                batch.settle(sent, on_host=False)
                batch.take(sent, chunk.numbers, DeviceRows())
                _, words, missed, *lists, _, _, ids = batch._lanes[sent.lane].counters.tolist()
                amounts = Amounts(sent.text_bytes, words, missed, sum(lists), ids)
    finally:
        batch.observe = None
    return {stage: statistics.median(times[1:]) for stage, times in found.items()}, amounts
