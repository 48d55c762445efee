"""The stages of the GPU route, each by itself, against what no version of it can be faster than."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

from gpu_floors import Amounts, Device, counter, least_bytes, least_instructions, mostly_not_ascii
from gpu_routes import Routes, texts_of
from report import Table

_MEGA = 1_000_000


def table_of_sizes(routes: Routes, device: Device) -> Table:
    """What a batch reads at random, and should find in the L2 cache."""
    info = routes.gpu.info()
    cache = device.cache_bytes
    rows = [
        [name, f"{size / _MEGA:.2f}", "-" if cache is None else f"{100 * size / cache:.0f}%"]
        for name, size in info["table_bytes"].items()
    ]
    remark = "no device, so no L2 cache" if cache is None else f"L2 cache: {cache / _MEGA:.0f} MB"
    remarks = [remark, f"buffers for the largest batch so far: {info['workspace_bytes'] / _MEGA:.0f} MB"]
    return Table(["table", "MB", "of the L2 cache"], rows, f"{routes.name}: tables on the device", remarks=remarks)


def table_of_stages(routes: Routes, corpus: str, device: Device, given: argparse.Namespace) -> Table:
    """Each stage by itself, waited for; the words that are no entry are in the cache from the run before."""
    texts = texts_of(corpus, given.corpora, min(given.bytes, routes.gpu.chunker.chunk_bytes // 4))
    routes.compare(texts)
    found, amounts = _stages(routes, texts, given.repeat)
    count = counter(device)
    found["all on the device"] = sum(taken for stage, taken in found.items() if stage not in ("pack", "copy"))
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
    return Table(columns, rows, title, remarks=["launched one by one and waited for each; recorded, gaps fall away"])


def _stages(routes: Routes, texts: Sequence[str], repeats: int) -> tuple[dict[str, float], Amounts]:
    found: dict[str, list[float]] = {}
    batch = routes.gpu._batch
    amounts = Amounts(0, 0, 0, 0, 0)
    last = 0.0

    def observe(stage: str) -> None:
        nonlocal last
        batch._streams.wait_for_all()
        now = time.perf_counter()
        found.setdefault(stage, []).append(now - last)
        last = now

    batch.observe = observe
    try:
        with batch.entered():
            for _ in range(repeats + 1):
                last = time.perf_counter()
                sent = batch.send(list(texts))
                batch.launch(sent, on_host=False)
                batch.finish(sent, on_host=False)
                _, words, missed, *lists, _, _, ids = batch._lanes[sent.lane].counters.tolist()
                amounts = Amounts(sent.text_bytes, words, missed, sum(lists), ids, mostly_not_ascii(texts))
    finally:
        batch.observe = None
    return {stage: statistics.median(times[1:]) for stage, times in found.items()}, amounts
