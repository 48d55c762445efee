"""Items of `make gpu-check` that say what the route takes on a device."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common.data import known_tokenizer, utf8_bytes
from benchmarks.common.report import Table
from benchmarks.gpu.device_items import output_of
from benchmarks.gpu.route_tables import table_of_crossover, table_of_methods, table_of_prompts
from benchmarks.gpu.routes import MIXED, Routes, by_turns, texts_of
from benchmarks.gpu.stages import copy_bandwidth, table_of_stages
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
    """From where the text lies to where ids are wanted, beside the native route on all processors."""
    routes = _routes(given)
    for corpus in _two(given):
        yield table_of_methods(routes, corpus, given)


def crossover(given: argparse.Namespace) -> Iterator[Table]:
    """The size from which the GPU is faster than the native route, for texts of all corpora; stored for "auto"."""
    yield table_of_crossover(_routes(given), MIXED, given)


def prompts(given: argparse.Namespace) -> Iterator[Table]:
    """One text at a time, by its length, in English."""
    yield table_of_prompts(_routes(given), given.corpora[0], given)


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
