"""The GPU route: its stages, where it overtakes the CPU route, and the microbenchmarks of BlockBPE and GPUTOK.

    python benchmarks/gpu.py --tokenizers gpt2,qwen3,llama3 --megabytes 64
    TRITON_INTERPRET=1 python benchmarks/gpu.py --check        compares ids on small batches; measures nothing

All ids are compared with the HF tokenizer's before a figure is shown. Times are medians of --repeats runs behind a warm
one, the host's work and both copies included, except in the table of stages. Without a GPU nothing is measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from corpora import prompts, whole_text
from report import Table, show, write_json
from tokenizer_files import tokenizer_json
from tokenizers import Tokenizer

from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.pipeline import Unsupported, read_pipeline
from lopt_plugin.routes.device.availability import DeviceUnavailableError, find_device, interpreted
from lopt_plugin.routes.device.packing import lay_out
from lopt_plugin.routes.gpu import GpuRoute
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings

FAMILIES = "gpt2,qwen3,llama3,gpt_oss,gpt4o,deepseek_v3,mistral_tekken"
_DOCUMENT_CHARS = 20_000


class Routes:
    """The three ways of one tokenizer: gpu, native and hf."""

    def __init__(self, name: str) -> None:
        tokenizer = Tokenizer.from_str(tokenizer_json(name))
        pipeline = read_pipeline(tokenizer)
        if isinstance(pipeline, Unsupported):
            raise SystemExit(f"{name}: {pipeline.reason}")
        self.pipeline = pipeline
        self.hf = HfRoute(tokenizer)
        self.native = NativeRoute(pipeline, Settings.read())
        self.gpu = GpuRoute(pipeline, self.native, check=False)

    def compare(self, texts: Sequence[str]) -> None:
        """Ends the program where ids differ."""
        expected = self.hf.encode_batch(texts, False, False)
        for route in (self.gpu, self.native):
            found = route.encode_batch(texts, False, False)
            if not (np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])):
                raise SystemExit(f"the {route.name} route gives other ids than HF: no figure is worth showing")
        if self.gpu.failure is not None:
            raise SystemExit(f"the GPU route failed: {self.gpu.failure}")


def seconds(work: Callable[[], Any], repeats: int) -> float:
    work()
    return statistics.median(_timed(work) for _ in range(repeats))


def _timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def texts_of(corpus: str, size: int) -> list[str]:
    """Documents of about `size` characters together; the corpus is repeated where it is smaller."""
    text, _ = whole_text(corpus)
    text = text * -(-size // len(text))
    return [text[begin : begin + _DOCUMENT_CHARS] for begin in range(0, size, _DOCUMENT_CHARS)]


def stages(routes: Routes, texts: Sequence[str], repeats: int) -> dict[str, float]:
    """Seconds of each stage, which are waited for one by one; "pack" is the host's, before the copy."""
    import torch

    found: dict[str, list[float]] = {}
    batch = routes.gpu._batch
    for _ in range(repeats + 1):
        last = time.perf_counter()
        layout = lay_out(([(text, None)] for text in texts), (), ())

        def observe(stage: str) -> None:
            nonlocal last
            torch.cuda.synchronize()
            now = time.perf_counter()
            found.setdefault(stage, []).append(now - last)
            last = now

        batch.observe = observe
        batch.encode(layout)
    batch.observe = lambda stage: None
    return {stage: statistics.median(times[1:]) for stage, times in found.items()}


def table_of_stages(name: str, routes: Routes, corpus: str, size: int, repeats: int) -> Table:
    texts = texts_of(corpus, min(size, routes.gpu.chunk_bytes // 4))
    sent = sum(len(text.encode()) for text in texts)
    found = stages(routes, texts, repeats)
    found["all on the device"] = sum(time for stage, time in found.items() if stage not in ("pack", "copy"))
    rows = [[stage, f"{1e3 * time:.3f}", f"{sent / time / 1e9:.2f}"] for stage, time in found.items()]
    return Table(["stage", "ms", "GB/s"], rows, f"{name}, {corpus}: stages, {sent:,} bytes")


def table_of_crossover(name: str, routes: Routes, corpus: str, size: int, repeats: int) -> Table:
    rows, crossover = [], None
    step = 1 << 14
    while step <= size:
        texts = texts_of(corpus, step)
        gpu = seconds(lambda texts=texts: routes.gpu.encode_batch(texts, False, False), repeats)
        native = seconds(lambda texts=texts: routes.native.encode_batch(texts, False, False), repeats)
        crossover = (crossover or step) if gpu < native else None
        rows.append([f"{step:,}", f"{1e3 * gpu:.3f}", f"{1e3 * native:.3f}", f"{native / gpu:.2f}"])
        step *= 2
    remark = "the GPU is never sooner" if crossover is None else f"the GPU is sooner from {crossover:,} characters on"
    threads = routes.native.settings.threads
    columns = ["characters", "gpu ms", f"native ms ({threads} threads)", "times as fast"]
    return Table(columns, rows, f"{name}, {corpus}: crossover", remarks=[remark])


def table_of_block_bpe(routes: Routes, repeats: int) -> Table:
    """BlockBPE's: GPT-2, excerpts of War and Peace, batches of 64 to 1024 by 128 to 4096 characters."""
    tiktoken_encode = _tiktoken(routes)
    rows = []
    for batch in (64, 256, 1024):
        for chars in (128, 512, 1024, 4096):
            texts = prompts("books_en", batch, chars).texts
            routes.compare(texts)
            works = [
                lambda texts=texts: routes.gpu.encode_batch(texts, False, False),
                lambda texts=texts: routes.native.encode_batch(texts, False, False),
                lambda texts=texts: routes.hf.encode_batch(texts, False, False),
                *([lambda texts=texts: tiktoken_encode(texts)] if tiktoken_encode else []),
            ]
            times = [f"{1e3 * seconds(work, repeats):.3f}" for work in works]
            rows.append([f"{batch} x {chars}", *times, *([] if tiktoken_encode else ["-"])])
    return Table(["batch", "gpu ms", "native ms", "HF ms", "tiktoken ms"], rows, "BlockBPE's microbenchmark, GPT-2")


def _tiktoken(routes: Routes) -> Callable[[Sequence[str]], Any] | None:
    try:
        import tiktoken
    except ImportError:
        return None
    from lopt_plugin.character_classes import alphabet
    from lopt_plugin.pipeline import BytePairModel
    from lopt_plugin.pipeline.split_patterns import GPT2

    model = routes.pipeline.model
    assert isinstance(model, BytePairModel)
    of_stand_in = {character: byte for byte, character in enumerate(alphabet())}
    special = {"<|endoftext|>"}
    ranks = {bytes(map(of_stand_in.get, e)): i for e, i in model.vocabulary.items() if e not in special}  # type: ignore[arg-type]
    encoding = tiktoken.Encoding("gpt2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    threads = routes.native.settings.threads
    return lambda texts: encoding.encode_ordinary_batch(list(texts), num_threads=threads)


def table_of_gputok(routes: Routes, repeats: int) -> Table:
    """GPUTOK's: single texts of 256 to 131,072 tokens."""
    text, _ = whole_text("books_en")
    rows = []
    for tokens in (256, 1024, 4096, 16_384, 65_536, 131_072):
        one = [text[: 4 * tokens]]
        routes.compare(one)
        times = [
            seconds(lambda route=route, one=one: route.encode_batch(one, False, False), repeats)
            for route in (routes.gpu, routes.native, routes.hf)
        ]
        count = len(routes.native.encode_batch(one, False, False)[0])
        rows.append([f"{count:,}", *(f"{1e3 * found:.3f}" for found in times)])
    return Table(["tokens", "gpu ms", "native ms", "HF ms"], rows, "GPUTOK's microbenchmark: one text")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", default=FAMILIES)
    parser.add_argument("--corpora", default="books_en,code,multi")
    parser.add_argument("--megabytes", type=int, default=64, help="the largest batch")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true", help="only compare ids; runs in Triton's interpreter too")
    arguments = parser.parse_args()
    names, corpora = arguments.tokenizers.split(","), arguments.corpora.split(",")
    try:
        device = find_device()
    except DeviceUnavailableError as error:
        print(f"no GPU: {error}. Nothing was measured.")
        return
    if arguments.check:
        for name in names:
            texts = [text for corpus in corpora for text in prompts(corpus, 4, 250).texts]
            Routes(name).compare(texts)
            print(
                f"{name}: equal to HF on {len(texts)} texts{' (Triton interpreter, no GPU)' if interpreted() else ''}"
            )
        return
    if interpreted():
        print("no GPU: this is Triton's interpreter. Nothing was measured; --check compares ids.")
        return
    import torch

    print(f"{torch.cuda.get_device_name(device)}; {machine_line()}\n")
    size = arguments.megabytes << 20
    tables = []
    for name in names:
        routes = Routes(name)
        for corpus in corpora:
            routes.compare(texts_of(corpus, 1 << 22))
            tables.append(table_of_stages(name, routes, corpus, size, arguments.repeats))
            tables.append(table_of_crossover(name, routes, corpus, size, arguments.repeats))
            show(tables[-2], arguments.markdown)
            show(tables[-1], arguments.markdown)
    routes = Routes("gpt2")
    for table in (table_of_block_bpe(routes, arguments.repeats), table_of_gputok(routes, arguments.repeats)):
        show(table, arguments.markdown)
        tables.append(table)
    write_json(arguments.json, "gpu", vars(arguments), [vars(table) for table in tables])


if __name__ == "__main__":
    main()
