"""The stages of the GPU route, each by itself, beside the least time that any version of it would take.

That is the time for the bytes it must move: each input read once and each output written once, by the module docstrings
of the kernels, over the bandwidth of a copy on the same device. Tables are in the L2 cache, so they do not count.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common.report import Table
from benchmarks.gpu.routes import Routes, texts_of
from lopt_plugin.routes.gpu.device import interpreted
from lopt_plugin.routes.gpu.rows import DeviceRows
from lopt_plugin.routes.request import PLAIN

_COPY_BYTES = 1 << 30


def copy_bandwidth(device: Any) -> float | None:
    """Bytes a second, read and written together; None in Triton's interpreter, where no figure says anything."""
    if interpreted():
        return None
    import torch

    size = min(_COPY_BYTES, torch.cuda.get_device_properties(device).total_memory // 8)
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
    return 2 * size / statistics.median(seconds)


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
        "boundaries": of.text + of.text // 8,
        "compact": of.text // 8 + 4 * of.words,
        "lookup": of.text + 8 * of.words + 4 * of.missed,
        "cache and merges": 12 * of.missed + 64 * of.merged,
        "emit": 16 * of.words + 4 * of.ids,
    }.get(stage, 0)


def table_of_stages(routes: Routes, corpus: str, bandwidth: float | None, given: argparse.Namespace) -> Table:
    """Each stage by itself, waited for; words that are not in the vocabulary are in the cache from the run before."""
    texts = texts_of(corpus, given.corpora, min(given.bytes, routes.gpu.chunk_bytes // 4))
    routes.compare(texts)
    found, amounts = _stages(routes, texts, given.repeat)
    found["all on the device"] = sum(taken for stage, taken in found.items() if stage not in ("sizes", "pack", "copy"))
    rows = []
    for stage, taken in found.items():
        row = [stage, f"{1e3 * taken:.3f}", f"{amounts.text / taken / 1e9:.2f}", "-", "-"]
        moved = least_bytes(stage, amounts)
        if bandwidth is not None and moved:
            floor = moved / bandwidth
            row[3:] = [f"{1e3 * floor:.3f}", f"{taken / floor:.1f}"]
        rows.append(row)
    columns = ["stage", "ms", "GB/s", "floor by bytes, ms", "times the floor"]
    title = (
        f"{routes.name}, {corpus}: stages, {amounts.text:,} bytes, {amounts.words:,} words, {amounts.missed:,} missed"
    )
    remark = "each stage is launched and waited for; in a recorded batch there are no gaps"
    return Table(columns, rows, title, remarks=[remark])


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
