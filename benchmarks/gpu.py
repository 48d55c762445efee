"""The GPU route: what it takes by stages and as a whole, against every CPU engine on all processors of the machine.

    python benchmarks/gpu.py                                   all tables, every tokenizer of the route
    python benchmarks/gpu.py --tokenizers qwen3 --megabytes 256
    TRITON_INTERPRET=1 python benchmarks/gpu.py --quick        without a GPU: does it run to its end?
    TRITON_INTERPRET=1 python benchmarks/gpu.py --check        compares ids on small batches; measures nothing

All ids are compared with the HF tokenizer's before a figure is shown; a mismatch of ours ends the program. Times are
medians of --repeat runs behind two that do not count. Without a GPU no figure says anything about speed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from corpora import prompts, whole_text
from gpu_floors import Amounts, Device, counter, device_of, least_bytes, least_instructions
from gpu_papers import table_of_block_bpe, table_of_gputok
from gpu_routes import MIXED, Routes, WrongIdsError, seconds, texts_of, utf8_bytes
from report import Report, Table, show, write_json
from script import add_output, known_corpus, names, numbers, parse

from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.routes.device.availability import DeviceUnavailableError, find_device, interpreted

FAMILIES = "gpt2,qwen3,llama3,gpt_oss,gpt4o,deepseek_v3,mistral_tekken"
PEERS = "gigatoken_array,gigatoken,fastokens,tiktoken,toktier"
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
                amounts = Amounts(sent.text_bytes, words, missed, sum(lists), ids)
    finally:
        batch.observe = None
    return {stage: statistics.median(times[1:]) for stage, times in found.items()}, amounts


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
        lambda: _synchronized(routes.gpu.encode_on_device(texts, False, False)),
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


def _synchronized(result: Any) -> Any:
    if not interpreted():
        import torch

        torch.cuda.current_stream().synchronize()
    return result


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
            lambda texts: _synchronized(routes.gpu.encode_on_device(texts, False, False)),
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


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    try:
        device = find_device()
    except DeviceUnavailableError as error:
        print(f"no GPU: {error}. Nothing was measured.")
        return 0
    try:
        if given.check:
            _check(given)
        else:
            _measure(given, device)
    except WrongIdsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _check(given: argparse.Namespace) -> None:
    for name in given.tokenizers:
        texts = [text for corpus in given.corpora if corpus != MIXED for text in prompts(corpus, 4, 250).texts]
        Routes(name, ()).compare(texts)
        print(f"{name}: equal to HF on {len(texts)} texts{' (Triton interpreter, no GPU)' if interpreted() else ''}")


def _measure(given: argparse.Namespace, device: Any) -> None:
    found = device_of(device)
    rate = "" if found.bandwidth is None else f", copies at {found.bandwidth / 1e9:,.0f} GB/s, read and written"
    print(f"{found.name}{rate}; {machine_line()}\n", flush=True)
    report = Report("The GPU route", __doc__ or "")

    def add(table: Table) -> None:
        report.tables.append(table)
        show(table, given.markdown)

    for name in given.tokenizers:
        routes = Routes(name, given.peers)
        for corpus in given.corpora:
            add(table_of_ways(routes, corpus, given))
            add(table_of_stages(routes, corpus, found, given))
        corpus = given.corpora[0]
        add(table_of_crossover(routes, corpus, given))
        add(table_of_prompts(routes, corpus, given))
        add(table_of_sizes(routes, found))
    routes = Routes(given.block_tokenizer, ())
    add(table_of_block_bpe(routes, given))
    add(table_of_gputok(routes, given))
    write_json(given.json, "gpu", vars(given), [vars(table) for table in report.tables], report)


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tokenizers", type=names, default=names(FAMILIES))
    corpora = [known_corpus("books_en"), known_corpus("code"), known_corpus("zh"), MIXED]
    made.add_argument("--corpora", type=names, default=corpora, help='known names; "mixed" is all of them')
    made.add_argument(
        "--peers", type=names, default=names(PEERS), help="engines for batches; those that are not here are left out"
    )
    made.add_argument("--megabytes", type=int, default=64, help="characters of a batch, 2**20")
    made.add_argument("--bytes", type=int, help="the same as a number of characters")
    made.add_argument("--repeat", type=int, default=7, help="timed runs (default %(default)s)")
    made.add_argument("--crossover", type=numbers, default=[1 << power for power in range(14, 25)], help="characters")
    made.add_argument("--prompt-bytes", type=numbers, default=[1 << 20, 4 << 20, 10 << 20], help="characters")
    made.add_argument("--block-tokenizer", default="gpt2", help="of BlockBPE's and GPUTOK's tables")
    made.add_argument("--block-batches", type=numbers, default=[64, 256, 1024])
    made.add_argument("--block-chars", type=numbers, default=[128, 512, 1024, 4096])
    made.add_argument("--gputok-tokens", type=numbers, default=[256, 1024, 4096, 16_384, 65_536, 131_072])
    made.add_argument("--check", action="store_true", help="only compare ids")
    add_output(made)
    quick = {
        "tokenizers": ["tiny_cl100k"],
        "corpora": [known_corpus("books_en"), MIXED],
        "bytes": 2000,
        "crossover": [1000],
        "prompt_bytes": [1500],
        "block_tokenizer": "tiny_cl100k",
        "block_batches": [2],
        "block_chars": [128],
        "gputok_tokens": [64],
    }
    given = parse(made, quick)
    given.bytes = given.megabytes << 20 if given.bytes is None else given.bytes
    return given


if __name__ == "__main__":
    sys.exit(main())
