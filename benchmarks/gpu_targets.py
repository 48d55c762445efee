"""What issue 8 asks of one H200, beside what was measured: asked, measured, reached. All ids are compared before."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from corpora import prompts, whole_text
from gpu_papers import tiktoken_batches
from gpu_routes import MIXED, Routes, seconds, synchronized, texts_of, utf8_bytes
from report import Table

RESIDENT_GB_A_SECOND = {"English": 30.0, MIXED: 10.0}
TIMES_THE_BEST_CPU_ENGINE = 3.0
PROMPT_MS = {"on the device": 0.8, "as a list": 1.5}
TIMES_TIKTOKEN = 10.0
LEAST_BATCH = 256


def _row(name: str, what: str, asked: float, measured: float, unit: str, *, at_least: bool) -> list[str]:
    reached = measured >= asked if at_least else measured <= asked
    sign = "at least" if at_least else "at most"
    return [name, what, f"{sign} {asked:g} {unit}", f"{measured:.2f} {unit}", "yes" if reached else "NO"]


def table_of_targets(routes: Routes, block: Routes, given: argparse.Namespace) -> Table:
    """routes: of the tokenizer that is asked about; block: of BlockBPE's table. CPU engines have all processors."""
    rows = [*_resident(routes, given), *_from_strings(routes, given), *_prompt(routes, given), *_block(block, given)]
    remarks = ["for other devices than an H200 nothing is asked", *_problems(routes)]
    return Table(["tokenizer", "what", "asked", "measured", "reached"], rows, "Targets", 2, remarks)


def _resident(routes: Routes, given: argparse.Namespace) -> list[list[str]]:
    rows = []
    for name, asked in RESIDENT_GB_A_SECOND.items():
        corpus = MIXED if name == MIXED else "books_en"
        texts = texts_of(corpus, given.corpora, given.resident)
        with routes.resident(texts) as work:
            rate = utf8_bytes(texts) / seconds(work, given.repeat) / 1e9
        what = f"text and ids on the device, {name}, {utf8_bytes(texts) / 1e6:,.0f} MB"
        rows.append(_row(routes.name, what, asked, rate, "GB/s", at_least=True))
    return rows


def _from_strings(routes: Routes, given: argparse.Namespace) -> list[list[str]]:
    texts = texts_of("books_en", given.corpora, given.target_bytes)
    routes.compare(texts)
    as_strings = list(texts)
    gpu = seconds(lambda: synchronized(routes.gpu.encode_on_device(texts, False, False)), given.repeat)
    engines: dict[str, Callable[[], Any]] = {"native": lambda: routes.native.encode_batch(texts, False, False)}
    for name, engine in routes.peers.items():
        engines[name] = lambda engine=engine: engine.encode_batch(as_strings)  # type: ignore[misc]
    taken = {name: seconds(work, given.repeat) for name, work in engines.items()}
    best = min(taken, key=taken.__getitem__)
    what = (
        f"{utf8_bytes(texts) / 1e6:,.0f} MB of strings to ids on the device, against {best} by {routes.threads} threads"
    )
    return [_row(routes.name, what, TIMES_THE_BEST_CPU_ENGINE, taken[best] / gpu, "times", at_least=True)]


def _prompt(routes: Routes, given: argparse.Namespace) -> list[list[str]]:
    text, _ = whole_text("books_en")
    size, runs = given.target_prompt, given.repeat + 2
    whole = text * -(-2 * size // len(text))
    step = max(1, (len(whole) - size) // runs)
    one = [[whole[k * step : k * step + size]] for k in range(runs)]
    for texts in one:
        routes.compare(texts)
    ways: dict[str, Callable[[list[str]], Any]] = {
        "on the device": lambda texts: synchronized(routes.gpu.encode_on_device(texts, False, False)),
        "as a list": lambda texts: routes.gpu.encode_list(texts[0], False, False),
    }
    rows = []
    for way, work in ways.items():
        coming = iter(one)
        taken = 1e3 * seconds(lambda work=work, coming=coming: work(next(coming)), given.repeat)  # type: ignore[misc]
        rows.append(
            _row(routes.name, f"a prompt of {size:,} characters, {way}", PROMPT_MS[way], taken, "ms", at_least=False)
        )
    return rows


def _block(routes: Routes, given: argparse.Namespace) -> list[list[str]]:
    tiktoken = tiktoken_batches(routes)
    what = f"BlockBPE's batches of {LEAST_BATCH} texts and more, against tiktoken"
    if tiktoken is None:
        return [[routes.name, what, f"at least {TIMES_TIKTOKEN:g} times", "no tiktoken for it here", "-"]]
    least = float("inf")
    for batch in (size for size in given.block_batches if size >= LEAST_BATCH or given.quick):
        for chars in given.block_chars:
            texts: Sequence[str] = prompts("books_en", batch, chars).texts
            routes.compare(texts)
            gpu = seconds(lambda texts=texts: routes.gpu.encode_batch(texts, False, False), given.repeat)  # type: ignore[misc]
            least = min(least, seconds(lambda texts=texts: tiktoken(texts), given.repeat) / gpu)  # type: ignore[misc]
    return [_row(routes.name, f"{what}, the least of all", TIMES_TIKTOKEN, least, "times", at_least=True)]


def _problems(routes: Routes) -> list[str]:
    return [f"{name}: {problem}" for name, problem in routes.problems.items()]
