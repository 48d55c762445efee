"""The GPU route as a whole, beside the CPU engines: by methods, sizes of a batch, and prompts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.common.data import mean_bytes, utf8_bytes
from benchmarks.common.report import Table
from benchmarks.gpu.routes import Routes, by_turns, different_prompts, seconds, synchronized, texts_of
from lopt_plugin.cli.bench_gpu import Timing, crossover_of
from lopt_plugin.routes.gpu.device import interpreted
from lopt_plugin.routes.request import PLAIN


def _milliseconds(taken: Iterable[float]) -> list[str]:
    return [f"{1e3 * one:.3f}" for one in taken]


def table_of_methods(routes: Routes, corpus: str, given: argparse.Namespace) -> Table:
    """GB/s of text, from where it lies to where its ids are wanted; CPU engines on all processors."""
    texts = texts_of(corpus, given.corpora, given.bytes)
    resident = texts_of(corpus, given.corpora, min(3 * given.bytes, 3 * routes.gpu.chunk_bytes))
    batches = by_turns(routes.for_device(resident))
    routes.compare(texts)
    rows = []

    def add(method: str, size: float, taken: float) -> None:
        rows.append([method, f"{size:,.0f}", f"{1e3 * taken:.3f}", f"{size / taken / 1e9:.3f}"])

    for words in ("new", "cached"):
        taken = routes.resident_seconds(batches, given.repeat, new_words=words == "new")
        add(f"gpu: text and ids on the device, {words} words", mean_bytes(batches), taken)
    for method, work in routes.methods(texts).items():
        peer = routes.peers.get(method)
        name = f"{method} ({peer.kind})" if peer else f"{method}, from strings"
        add(name, utf8_bytes(texts), seconds(work, given.repeat))
    remarks = [f"{name}: {problem}" for name, problem in routes.problems.items()]
    title = f"{routes.name}, {corpus}: methods, CPU engines with {routes.threads} threads"
    return Table(["method", "bytes", "ms", "GB/s"], rows, title, remarks=remarks)


def table_of_crossover(routes: Routes, corpus: str, given: argparse.Namespace) -> Table:
    """The size of a batch from which on the GPU is faster, to arrays and to lists; stored for the route "auto"."""
    rows, timings, methods = [], [], ("gpu: array", "native: array", "gpu: lists", "native: lists")
    for size in given.crossover:
        texts = texts_of(corpus, given.corpora, size)
        routes.compare(texts)
        works = routes.methods(texts)
        taken = [seconds(works[method], given.repeat) for method in methods]
        timings.append(Timing(size, *taken))
        rows.append([f"{size:,}", *_milliseconds(taken), f"{taken[1] / taken[0]:.2f}", f"{taken[3] / taken[2]:.2f}"])
    crossover = crossover_of(timings)
    remarks = [
        "the GPU is never faster" if crossover is None else f"the GPU is faster from {crossover:,} characters on"
    ]
    if not (interpreted() or given.quick):
        routes.gpu.store_crossover(crossover)
    columns = ["characters", *(f"{method}, ms" for method in methods), "arrays, times as fast", "lists"]
    title = f"{routes.name}, {corpus}: crossover of batches, {routes.threads} native threads"
    return Table(columns, rows, title, remarks=remarks)


def table_of_prompts(routes: Routes, corpus: str, given: argparse.Namespace) -> Table:
    """One text at a time, ms, each seen for the first time by what is timed."""
    works: dict[str, Callable[[str], Any]] = {
        "gpu: on the device": lambda text: synchronized(routes.gpu.encode_on_device([text], PLAIN[False][False])),
        "gpu: array": lambda text: routes.gpu.encode_batch([text], PLAIN[False][False]),
        "gpu: list": lambda text: routes.gpu.encode_list(text, PLAIN[False][False]),
        "native: array": lambda text: routes.native.encode_array(text, PLAIN[False][False]),
        "native: list": lambda text: routes.native.encode_list(text, PLAIN[False][False]),
    }
    rows = []
    for size in given.prompts:
        texts = different_prompts(corpus, size, given.repeat + 2)
        for text in texts:
            routes.compare([text])
        rests = [(work, iter(texts)) for work in works.values()]
        taken = [seconds(lambda work=work, rest=rest: work(next(rest)), given.repeat) for work, rest in rests]  # type: ignore[misc]
        rows.append([f"{size:,}", *_milliseconds(taken)])
    return Table(["characters", *works], rows, f"{routes.name}, {corpus}: one prompt, ms, {routes.threads} threads")
