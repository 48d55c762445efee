"""lopt check: is it exact for this tokenizer and these texts, and what does the work?"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..benchmarking.machine import machine
from . import description
from . import model as models
from .comparison import Comparison, Counts
from .failure import CANNOT_LOAD, DIFFERENT, ends_well
from .terminal import megabytes, print_json, progress_bar, results
from .texts import Sample, built_in_hard_texts, built_in_prose, of_files

_BATCH_TEXTS = 64
_BATCH_CHARS = 1 << 20
_CHUNKED = {"chunk_chars": 1000, "parallel_min_chars": 2000, "threads": 4}
_PROSE_CHARS = 1_000_000


@ends_well(on_error=CANNOT_LOAD)
def check(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Folder with a tokenizer, tokenizer.json, or name on the hub.")
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Text, JSON lines, Parquet, also .gz, .zst. Default: hard texts and prose."
        ),
    ] = None,
    field: Annotated[str, typer.Option(help="Field of the JSON lines or column of the Parquet files.")] = "text",
    offsets: Annotated[bool, typer.Option("--offsets", help="Compare offset mappings as well.")] = False,
    limit: Annotated[float | None, typer.Option(min=0.0, help="Stop after as many MB of text.", metavar="MB")] = None,
    piece_chars: Annotated[
        int, typer.Option(min=1000, help="Longer texts are compared in pieces of as many characters.")
    ] = 1_000_000,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads. Default: all CPUs of the process.")] = None,
    revision: Annotated[str | None, typer.Option(help="Revision of the model on the hub.")] = None,
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="As in transformers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Show which route a tokenizer takes and why, and compare its ids with Hugging Face's on your texts.

    Every text goes through the tokenizer's call, encode_ids, encode_batch_ids, and once more cut into short chunks.

    Exit status: 0 all equal, 1 something differs, 2 the model cannot be loaded or wrong usage.
    """
    given = of_files(files, field) if files else None
    original = models.load(model, revision, trust_remote_code)
    accelerated = models.accelerate(original, model, threads=threads)
    explained = accelerated.lopt.explain()
    report: dict[str, Any] = {
        "model": model,
        **explained,
        "parts": description.parts(original.backend_tokenizer.to_str()),
        "machine": machine(),
    }
    if not as_json:
        _show_route(report)
    # Where Hugging Face does the work there are no chunks to be joined.
    chunked = None if explained["route"] == "hf" else models.accelerate(original, model, **_CHUNKED)
    comparison = Comparison(original, accelerated, chunked, offsets)
    total = None
    if given is None:
        samples = _built_in([str(token) for token in original.added_tokens_decoder.values()])
    else:
        inputs, samples = given
        plain = all(one.compression is None and one.size is not None for one in inputs)
        total = sum(one.size or 0 for one in inputs) if plain else None
    start = time.perf_counter()
    _compare(comparison, _pieces(samples, piece_chars), total, limit)
    seconds = time.perf_counter() - start
    counts = comparison.counts
    if as_json:
        print_json({**report, "equal": counts.different == 0, "seconds": seconds, "compared": asdict(counts)})
    else:
        _show_result(counts, seconds, built_in=given is None)
    if counts.different:
        raise typer.Exit(DIFFERENT)


def _built_in(added_tokens: list[str]) -> Iterator[Sample]:
    yield from built_in_hard_texts(added_tokens)
    yield Sample(built_in_prose(_PROSE_CHARS), "sources of Python's standard library")


def _pieces(samples: Iterator[Sample], chars: int) -> Iterator[Sample]:
    for sample in samples:
        if len(sample.text) <= chars:
            yield sample
            continue
        for first in range(0, len(sample.text), chars):
            yield Sample(sample.text[first : first + chars], f"{sample.origin}, from character {first:,}")


def _compare(comparison: Comparison, samples: Iterator[Sample], total: int | None, limit_mb: float | None) -> None:
    counts = comparison.counts
    limit = None if limit_mb is None else int(limit_mb * 1e6)
    if limit is not None:
        total = limit if total is None else min(total, limit)
    start = time.perf_counter()
    with progress_bar() as bar:
        task = bar.add_task("comparing", total=total, rate="")
        for group in _groups(samples):
            comparison.compare(group)
            rate = f"{counts.texts:,} texts, {megabytes(counts.size / (time.perf_counter() - start))}/s"
            bar.update(task, completed=counts.size, rate=rate)
            if limit is not None and counts.size >= limit:
                return


def _groups(samples: Iterator[Sample]) -> Iterator[Sequence[Sample]]:
    group: list[Sample] = []
    chars = 0
    for sample in samples:
        group.append(sample)
        chars += len(sample.text)
        if len(group) >= _BATCH_TEXTS or chars >= _BATCH_CHARS:
            yield group
            group, chars = [], 0
    if group:
        yield group


def _show_route(report: dict[str, Any]) -> None:
    console = results()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    colour = "yellow" if report["route"] == "hf" else "green"
    table.add_row("route", f"[{colour}]{report['route']}[/]")
    table.add_row("reason", escape(str(report["reason"])))
    for name, value in report["parts"].items():
        table.add_row(name, escape(value))
    checked = report["self_check"]
    if checked is not None:
        passed = "passed" if checked["mismatch"] is None else f"[red]other ids in {escape(checked['mismatch'])}[/]"
        table.add_row("self-check", f"{checked['texts']} texts, {1e3 * checked['seconds']:.0f} ms, {passed}")
    found = report["machine"]
    threads = f"up to {report['threads']} for a text of {report['parallel_min_chars']:,} characters or more"
    table.add_row("threads", f"{threads}; {found['processor']}, {found['cpus']} CPUs")
    table.add_row("GPU", escape(", ".join(found["gpus"])) or "none")
    versions = {name.replace("-", "_"): version for name, version in found["versions"].items()}
    versions.update(report["versions"])
    shown = [f"{name} {version}" for name, version in versions.items() if version]
    table.add_row("versions", escape(", ".join(shown)))
    console.print(table)


def _show_result(counts: Counts, seconds: float, built_in: bool) -> None:
    console = results()
    kind = "built-in texts" if built_in else "texts"
    what = f"{counts.texts:,} {kind}, {megabytes(counts.size)}, {counts.tokens:,} tokens"
    what += f", {counts.offsets:,} offsets" if counts.offsets else ""
    if not counts.different:
        console.print(f"[bold green]equal[/]      {what}: {counts.comparisons:,} comparisons in {seconds:.1f} s")
        return
    console.print(f"[bold red]DIFFERENT[/]  {counts.different:,} of {counts.comparisons:,} comparisons; {what}")
    first = counts.first
    assert first is not None
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("first", escape(f"{first.origin}, token {first.index:,}, by {first.way} {first.detail}".strip()))
    table.add_row("text", escape(first.text))
    table.add_row("HF", escape(f"{first.expected_ids} {first.expected_tokens}"))
    table.add_row("lopt", escape(f"{first.found_ids} {first.found_tokens}"))
    console.print(table)
