"""The microbenchmarks of two papers, with exact ids: BlockBPE's batches and GPUTOK's single texts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from corpora import prompts, whole_text
from gpu_routes import Routes, seconds
from report import Table


def table_of_block_bpe(routes: Routes, given: argparse.Namespace) -> Table:
    """BlockBPE's: GPT-2, excerpts of War and Peace, batches of 64 to 1024 by 128 to 4096 characters."""
    tiktoken_encode = tiktoken_batches(routes)
    rows = []
    for batch in given.block_batches:
        for chars in given.block_chars:
            texts = prompts("books_en", batch, chars).texts
            routes.compare(texts)
            works = [
                lambda texts=texts: routes.gpu.encode_batch(texts, False, False),
                lambda texts=texts: routes.native.encode_batch(texts, False, False),
                lambda texts=texts: routes.hf.encode_batch(texts, False, False),
                *([lambda texts=texts: tiktoken_encode(texts)] if tiktoken_encode else []),
            ]
            times = [seconds(work, given.repeat) for work in works]
            over = f"{times[3] / times[0]:.2f}" if tiktoken_encode else "-"
            cells = [*(f"{1e3 * taken:.3f}" for taken in times), *([] if tiktoken_encode else ["-"]), over]
            rows.append([f"{batch} x {chars}", *cells])
    columns = ["batch", "gpu ms", "native ms", "HF ms", "tiktoken ms", "times tiktoken"]
    return Table(columns, rows, f"BlockBPE's microbenchmark, {routes.name}, {routes.threads} threads")


def tiktoken_batches(routes: Routes) -> Callable[[Sequence[str]], Any] | None:
    """What tiktoken does with a batch, by all processors; None where it is not here, and for other patterns."""
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
    if routes.pipeline.scanner != "gpt2":
        return None
    special = {"<|endoftext|>"}
    ranks = {bytes(map(of_stand_in.get, e)): i for e, i in model.vocabulary.items() if e not in special}  # type: ignore[arg-type]
    encoding = tiktoken.Encoding("gpt2", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    threads = routes.native.settings.threads
    return lambda texts: encoding.encode_ordinary_batch(list(texts), num_threads=threads)


def table_of_gputok(routes: Routes, given: argparse.Namespace) -> Table:
    """GPUTOK's: single texts of 256 to 131,072 tokens."""
    text, _ = whole_text("books_en")
    rows = []
    for tokens in given.gputok_tokens:
        one = [text[: 4 * tokens]]
        routes.compare(one)
        times = [
            seconds(lambda route=route, one=one: route.encode_batch(one, False, False), given.repeat)
            for route in (routes.gpu, routes.native, routes.hf)
        ]
        count = len(routes.native.encode_batch(one, False, False)[0])
        rows.append([f"{count:,}", *(f"{1e3 * found:.3f}" for found in times)])
    return Table(["tokens", "gpu ms", "native ms", "HF ms"], rows, f"GPUTOK's microbenchmark: one text, {routes.name}")
