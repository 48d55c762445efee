"""The GPU route as a whole, beside the CPU engines: by methods, sizes, prompts, and the targets."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.common.data import mean_bytes, prompts, utf8_bytes
from benchmarks.common.report import Table
from benchmarks.gpu.routes import MIXED, Routes, by_turns, different_prompts, seconds, synchronized, texts_of
from lopt_plugin.cli.bench_gpu import Timing, crossover_of
from lopt_plugin.routes.gpu.device import interpreted
from lopt_plugin.routes.request import PLAIN

# What one H100 or H200 is to reach.
RESIDENT_GB_A_SECOND = {"English": 30.0, MIXED: 10.0}
TIMES_THE_BEST_CPU_ENGINE = 3.0
PROMPT_MS = {"gpu: on the device": 0.8, "gpu: list": 1.5}
TIMES_TIKTOKEN = 10.0
LEAST_BATCH = 256


def _milliseconds(taken: Iterable[float]) -> list[str]:
    return [f"{1e3 * one:.3f}" for one in taken]


def _timed(routes: Routes, texts: Sequence[str], methods: Sequence[str], repeat: int) -> list[float]:
    """Seconds of some methods, whose ids are compared before."""
    routes.compare(texts)
    works = routes.methods(texts)
    return [seconds(works[method], repeat) for method in methods]


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
        if method != "hf: array":
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
        taken = _timed(routes, texts, methods, given.repeat)
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


def _prompt_seconds(routes: Routes, corpus: str, size: int, methods: Sequence[str], repeat: int) -> list[float]:
    """One text at a time, each seen for the first time by what is timed."""
    texts = different_prompts(corpus, size, repeat + 2)
    for text in texts:
        routes.compare([text])
    works: dict[str, Callable[[str], Any]] = {
        "gpu: on the device": lambda text: synchronized(routes.gpu.encode_on_device([text], PLAIN[False][False])),
        "gpu: array": lambda text: routes.gpu.encode_batch([text], PLAIN[False][False]),
        "gpu: list": lambda text: routes.gpu.encode_list(text, PLAIN[False][False]),
        "native: array": lambda text: routes.native.encode_array(text, PLAIN[False][False]),
        "native: list": lambda text: routes.native.encode_list(text, PLAIN[False][False]),
    }
    found = []
    for method in methods:
        rest = iter(texts)
        found.append(seconds(lambda work=works[method], rest=rest: work(next(rest)), repeat))  # type: ignore[misc]
    return found


def table_of_prompts(routes: Routes, corpus: str, given: argparse.Namespace) -> Table:
    """One prompt at a time, ms."""
    methods = ("gpu: on the device", "gpu: array", "gpu: list", "native: array", "native: list")
    rows = [
        [f"{size:,}", *_milliseconds(_prompt_seconds(routes, corpus, size, methods, given.repeat))]
        for size in given.prompt_bytes
    ]
    return Table(["characters", *methods], rows, f"{routes.name}, {corpus}: one prompt, ms, {routes.threads} threads")


def tiktoken_batches(routes: Routes) -> Callable[[Sequence[str]], Any] | None:
    """What tiktoken does with a batch, on all processors; None where it cannot do this tokenizer."""
    peer = routes.peers.get("tiktoken")
    return peer and (lambda texts: peer.encoding.encode_ordinary_batch(list(texts), num_threads=routes.threads))


def table_of_targets(routes: Routes, block: Routes, given: argparse.Namespace) -> Table:
    """What is asked of one H200, beside what was measured.

    routes: the tokenizer that is asked about; block: that of BlockBPE's table. CPU engines have all processors.
    """
    rows: list[list[str]] = []

    def add(name: str, what: str, asked: float, measured: float, unit: str, *, at_least: bool = True) -> None:
        reached = measured >= asked if at_least else measured <= asked
        sign = "at least" if at_least else "at most"
        rows.append([name, what, f"{sign} {asked:g} {unit}", f"{measured:.2f} {unit}", "yes" if reached else "NO"])

    for name, asked in RESIDENT_GB_A_SECOND.items():
        resident = texts_of(MIXED if name == MIXED else "books_en", given.corpora, 3 * given.resident)
        batches = by_turns(routes.for_device(resident))
        size = mean_bytes(batches)
        rate = size / routes.resident_seconds(batches, given.repeat, new_words=True) / 1e9
        add(routes.name, f"text and ids on the device, {name}, {size / 1e6:,.0f} MB", asked, rate, "GB/s")

    texts = texts_of("books_en", given.corpora, given.target_bytes)
    routes.compare(texts)
    works = routes.methods(texts)
    gpu = seconds(works["gpu: on the device"], given.repeat)
    others = {name: seconds(works[name], given.repeat) for name in ("native: array", *routes.peers)}
    best = min(others, key=others.__getitem__)
    what = f"{utf8_bytes(texts) / 1e6:,.0f} MB of strings to ids on the device, against {best}"
    add(routes.name, f"{what} by {routes.threads} threads", TIMES_THE_BEST_CPU_ENGINE, others[best] / gpu, "times")

    taken = _prompt_seconds(routes, "books_en", given.target_prompt, list(PROMPT_MS), given.repeat)
    for (method, most), one in zip(PROMPT_MS.items(), taken, strict=True):
        what = f"a prompt of {given.target_prompt:,} characters, {method}"
        add(routes.name, what, most, 1e3 * one, "ms", at_least=False)

    what = f"BlockBPE's batches of {LEAST_BATCH} texts and more, against tiktoken"
    tiktoken = tiktoken_batches(block)
    if tiktoken is None:
        rows.append([block.name, what, f"at least {TIMES_TIKTOKEN:g} times", "no tiktoken for it here", "-"])
    else:
        least = float("inf")
        for batch in (size for size in given.block_batches if size >= LEAST_BATCH or given.quick):
            for chars in given.block_chars:
                texts = prompts("books_en", batch, chars)[0]
                gpu = _timed(block, texts, ["gpu: array"], given.repeat)[0]
                least = min(least, seconds(lambda texts=texts: tiktoken(texts), given.repeat) / gpu)  # type: ignore[misc]
        add(block.name, f"{what}, the least of all", TIMES_TIKTOKEN, least, "times")
    remarks = [
        "for other devices than an H100 or H200 nothing is asked",
        *(f"{n}: {why}" for n, why in routes.problems.items()),
    ]
    return Table(["tokenizer", "what", "asked", "measured", "reached"], rows, "Targets", 2, remarks)
