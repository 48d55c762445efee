"""The GPU route as a whole, from texts to ids, beside the CPU engines of the same machine."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from corpora import whole_text
from gpu_routes import Routes, seconds, synchronized, texts_of, utf8_bytes
from report import Table

from lopt_plugin.routes.device.availability import interpreted


def table_of_ways(routes: Routes, corpus: str, given: argparse.Namespace) -> Table:
    """GB/s of text, from where it lies to where its ids are wanted; CPU engines on all processors."""
    texts = texts_of(corpus, given.corpora, given.bytes)
    routes.compare(texts)
    chunk = texts_of(corpus, given.corpora, min(given.bytes, routes.gpu.chunker.chunk_bytes // 4))
    rows = []

    def add(way: str, of: Sequence[str], work: Callable[[], Any]) -> None:
        taken, size = seconds(work, given.repeat), utf8_bytes(of)
        rows.append([way, f"{size:,}", f"{1e3 * taken:.3f}", f"{size / taken / 1e9:.3f}"])

    with routes.resident(chunk) as work:
        add("gpu: text and ids on the device", chunk, work)
    add(
        "gpu: strings to ids on the device",
        texts,
        lambda: synchronized(routes.gpu.encode_on_device(texts, False, False)),
    )
    add("gpu: strings to an array", texts, lambda: routes.gpu.encode_batch(texts, False, False))
    add("gpu: strings to lists", texts, lambda: routes.gpu.text_lists(texts, False))
    add("native: strings to an array", texts, lambda: routes.native.encode_batch(texts, False, False))
    add("native: strings to lists", texts, lambda: routes.native.text_lists(texts, False))
    for name, engine in routes.peers.items():
        as_strings = list(texts)
        add(
            f"{name} ({engine.kind})",
            texts,
            lambda engine=engine, as_strings=as_strings: engine.encode_batch(as_strings),
        )
    remarks = [f"{name}: {problem}" for name, problem in routes.problems.items()]
    title = f"{routes.name}, {corpus}: ways, CPU engines with {routes.threads} threads"
    return Table(["way", "bytes", "ms", "GB/s"], rows, title, remarks=remarks)


def table_of_crossover(routes: Routes, corpus: str, given: argparse.Namespace) -> Table:
    rows, crossover = [], None
    for size in given.crossover:
        texts = texts_of(corpus, given.corpora, size)
        routes.compare(texts)
        gpu = seconds(lambda texts=texts: routes.gpu.encode_batch(texts, False, False), given.repeat)
        native = seconds(lambda texts=texts: routes.native.encode_batch(texts, False, False), given.repeat)
        crossover = (crossover or size) if gpu < native else None
        rows.append([f"{size:,}", f"{1e3 * gpu:.3f}", f"{1e3 * native:.3f}", f"{native / gpu:.2f}"])
    remarks = [
        "the GPU is never sooner" if crossover is None else f"the GPU is sooner from {crossover:,} characters on"
    ]
    if not interpreted():
        remarks.append(f"what the route itself measured: {routes.gpu.measured_crossover().info()}")
    columns = ["characters", "gpu ms", f"native ms ({routes.threads} threads)", "times as fast"]
    return Table(columns, rows, f"{routes.name}, {corpus}: crossover of batches", remarks=remarks)


def table_of_prompts(routes: Routes, corpus: str, given: argparse.Namespace) -> Table:
    """One text at a time, each seen for the first time by what is timed; ms."""
    rows = []
    text, _ = whole_text(corpus)
    for size in given.prompt_bytes:
        whole = text * -(-(size * (given.repeat + 2)) // len(text))
        step = max(1, (len(whole) - size) // (given.repeat + 2))
        one = [[whole[k * step : k * step + size]] for k in range(given.repeat + 2)]
        routes.compare(one[0])
        works: list[Callable[[list[str]], Any]] = [
            lambda texts: synchronized(routes.gpu.encode_on_device(texts, False, False)),
            lambda texts: routes.gpu.encode_batch(texts, False, False),
            lambda texts: routes.gpu.encode_list(texts[0], False, False),
            lambda texts: routes.native.encode_array(texts[0], False, False),
            lambda texts: routes.native.encode_list(texts[0], False, False),
        ]
        cells = []
        for work in works:
            coming = iter(one)
            cells.append(f"{1e3 * seconds(lambda work=work, coming=coming: work(next(coming)), given.repeat):.3f}")
        rows.append([f"{size:,}", *cells])
    columns = ["characters", "gpu: on the device", "gpu: array", "gpu: list", "native: array", "native: list"]
    return Table(columns, rows, f"{routes.name}, {corpus}: one prompt, ms, {routes.threads} threads")
