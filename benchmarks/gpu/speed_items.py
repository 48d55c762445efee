"""Items of `make gpu-check` that say what the route takes on a device."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.common.data import known_tokenizer, mean_bytes, utf8_bytes, whole_text
from benchmarks.common.report import Table
from benchmarks.gpu.device_items import output_of
from benchmarks.gpu.routes import MIXED, Routes, by_turns, seconds, synchronized, texts_of
from benchmarks.gpu.stages import copy_bandwidth, table_of_stages
from lopt_plugin.cli.bench_gpu import Timing, crossover_of
from lopt_plugin.cli.benchmarking.prompts import spread
from lopt_plugin.routes.gpu.device import find_device, interpreted
from lopt_plugin.routes.request import PLAIN

PAPERS = ("blockbpe", "gputok")
PEERS = ("tiktoken", "fastokens", "gigatoken")


_routes_of = functools.cache(lambda name, *peers: Routes(name, peers))


def _routes(given: argparse.Namespace) -> Routes:
    found: Routes = _routes_of("qwen3" if "qwen3" in given.tokenizers else given.tokenizers[0], *given.peers)
    return found


def stages(given: argparse.Namespace) -> Iterator[Table]:
    """Each stage beside its floor, in English and in Chinese."""
    routes, bandwidth = _routes(given), copy_bandwidth(find_device())
    for corpus in _two(given):
        yield table_of_stages(routes, corpus, bandwidth, given)


def kernels(given: argparse.Namespace) -> Iterator[Table]:
    """Microseconds of each kernel in one batch, as PyTorch's profiler sees them."""
    if interpreted():
        return
    import torch

    routes = _routes(given)
    for corpus in _two(given):
        texts, *others = by_turns(texts_of(corpus, given.corpora, 3 * given.bytes))
        for other in others:
            routes.gpu.encode_on_device(other, PLAIN[False][False])
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            routes.gpu.encode_on_device(texts, PLAIN[False][False])
            torch.cuda.synchronize()
        events = sorted(profile.key_averages(), key=lambda event: -event.device_time_total)
        size = utf8_bytes(texts)
        rows = [
            [event.key, str(event.count), f"{taken:.1f}", f"{size / taken / 1e3:.1f}"]
            for event in events
            if (taken := event.device_time_total) > 0
        ]
        if not rows:
            raise RuntimeError("the profiler saw no kernel")
        yield Table(["kernel", "launches", "us", "GB/s"], rows, f"{routes.name}, {corpus}: kernels, {size:,} bytes")


def methods(given: argparse.Namespace) -> Iterator[Table]:
    """GB/s of text, from where it lies to where its ids are wanted; the native route and peers on all processors."""
    routes = _routes(given)
    for corpus in _two(given):
        texts = texts_of(corpus, given.corpora, given.bytes)
        resident = texts_of(corpus, given.corpora, min(3 * given.bytes, 3 * routes.gpu.chunk_bytes))
        batches = by_turns(routes.for_device(resident))
        routes.compare(texts)
        taken: dict[str, tuple[float, float]] = {}  # bytes and seconds
        for words in ("new", "cached"):
            alone = routes.resident_seconds(batches, given.repeat, new_words=words == "new")
            taken[f"gpu: text and ids on the device, {words} words"] = mean_bytes(batches), alone
        for method, work in routes.methods(texts).items():
            peer = routes.peers.get(method)
            name = f"{method} ({peer.kind})" if peer else f"{method}, from strings"
            taken[name] = utf8_bytes(texts), seconds(work, given.repeat)
        rows = [
            [method, f"{size:,.0f}", f"{1e3 * one:.3f}", f"{size / one / 1e9:.3f}"]
            for method, (size, one) in taken.items()
        ]
        remarks = [f"{name}: {problem}" for name, problem in routes.problems.items()]
        title = f"{routes.name}, {corpus}: methods, CPU engines with {routes.threads} threads"
        yield Table(["method", "bytes", "ms", "GB/s"], rows, title, remarks=remarks)


def crossover(given: argparse.Namespace) -> Iterator[Table]:
    """The size of a batch of texts of all corpora from which on the GPU is faster; stored for the route "auto"."""
    routes, rows, timings = _routes(given), [], []
    methods = ("gpu: array", "native: array", "gpu: lists", "native: lists")
    for size in given.crossover:
        texts = texts_of(MIXED, given.corpora, size)
        routes.compare(texts)
        works = routes.methods(texts)
        taken = [seconds(works[method], given.repeat) for method in methods]
        timings.append(Timing(size, *taken))
        rows.append([f"{size:,}", *_milliseconds(taken), f"{taken[1] / taken[0]:.2f}", f"{taken[3] / taken[2]:.2f}"])
    found = crossover_of(timings)
    remarks = ["the GPU is never faster" if found is None else f"the GPU is faster from {found:,} characters on"]
    if not (interpreted() or given.quick):
        routes.gpu.store_crossover(found)
    columns = ["characters", *(f"{method}, ms" for method in methods), "arrays, times as fast", "lists"]
    title = f"{routes.name}, {MIXED}: crossover of batches, {routes.threads} native threads"
    yield Table(columns, rows, title, remarks=remarks)


def prompts(given: argparse.Namespace) -> Iterator[Table]:
    """One text at a time in English, by its length, each seen for the first time by what is timed."""
    routes, corpus, rows = _routes(given), given.corpora[0], []
    whole, _ = whole_text(corpus)
    works: dict[str, Callable[[str], Any]] = {
        "gpu: on the device": lambda text: synchronized(routes.gpu.encode_on_device([text], PLAIN[False][False])),
        "gpu: array": lambda text: routes.gpu.encode_batch([text], PLAIN[False][False]),
        "gpu: list": lambda text: routes.gpu.encode_list(text, PLAIN[False][False]),
        "native: array": lambda text: routes.native.encode_array(text, PLAIN[False][False]),
        "native: list": lambda text: routes.native.encode_list(text, PLAIN[False][False]),
    }
    for size in given.prompts:
        count = given.repeat + 2
        texts = spread(whole * -(-(size * count) // len(whole)), count, size)
        for text in texts:
            routes.compare([text])
        rests = [(work, iter(texts)) for work in works.values()]
        taken = [seconds(lambda work=work, rest=rest: work(next(rest)), given.repeat) for work, rest in rests]  # type: ignore[misc]
        rows.append([f"{size:,}", *_milliseconds(taken)])
    yield Table(["characters", *works], rows, f"{routes.name}, {corpus}: one prompt, ms, {routes.threads} threads")


def papers(given: argparse.Namespace) -> Iterator[Table]:
    """The tables of BlockBPE and GPUTOK."""
    engines = [peer for peer in PEERS if importlib.util.find_spec(peer)]
    for paper in PAPERS:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "found.json")
            command = [sys.executable, f"benchmarks/papers/{paper}.py", "--repeat", "1", "--json", str(file)]
            command += ["--batches", "16,256,1024"] if paper == "blockbpe" else ["--texts", "5"]
            if given.quick:
                command.append("--quick")
            else:
                engines_here = ["hf", *engines, "lopt", *(["lopt_array"] if paper == "blockbpe" else []), "lopt_gpu"]
                command += ["--tokenizer", known_tokenizer("gpt2"), "--engines", ",".join(engines_here)]
            printed = output_of(command, given, fails=True)  # an engine that fails is a remark in the table
            if not file.exists():
                raise RuntimeError(printed[-3000:])
            for table in json.loads(file.read_text(encoding="utf-8"))["report"]["tables"]:
                yield Table(**table)


def _two(given: argparse.Namespace) -> list[str]:
    """English, and Chinese where it is among the corpora."""
    return list(dict.fromkeys([given.corpora[0], "zh" if "zh" in given.corpora else given.corpora[-1]]))


def _milliseconds(taken: Iterable[float]) -> list[str]:
    return [f"{1e3 * one:.3f}" for one in taken]
