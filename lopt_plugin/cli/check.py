"""lopt check: which route does this tokenizer take, and are its ids for these texts exact?"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice, zip_longest
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from tokenizers.decoders import DecodeStream

from . import model as models, options
from .benchmarking.machine import machine
from .corpus.inputs import find_inputs
from .output import CANNOT_LOAD, DIFFERENT, CommandError, ends_well, megabytes, print_json, progress_bar, results
from .texts import Sample, built_in_texts, of_inputs

_BATCH_TEXTS = 16
_SHORT_CHUNKS = {"chunk_chars": 1000, "parallel_min_chars": 2000, "threads": 4}
_PROSE_CHARS = 1_000_000
_CONTEXT_CHARS = 40
_CONTEXT_TOKENS = 3
_MOST_SHOWN = 200


@ends_well(on_error=CANNOT_LOAD)
def check(
    model: options.Model,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Text, JSON lines or Parquet, also .gz, .zst. Default: built-in hard texts and prose."
        ),
    ] = None,
    field: options.Field = "text",
    offsets: Annotated[bool, typer.Option("--offsets", help="Compare offset mappings too.")] = False,
    limit: Annotated[float | None, typer.Option(min=0.0, help="Stop after this much text.", metavar="MB")] = None,
    piece_chars: Annotated[
        int, typer.Option(min=1000, help="Split longer texts into pieces of this many characters.")
    ] = 1_000_000,
    threads: options.Threads = None,
    revision: options.Revision = None,
    trust_remote_code: options.TrustRemoteCode = False,
    as_json: options.AsJson = False,
) -> None:
    """Show which route a tokenizer takes and why, and compare its ids with Hugging Face's on your texts.

    Each text is tokenized by the tokenizer's call, by encode_ids, by encode_batch_ids, and by encode_ids in short
    chunks. Its ids are decoded as a whole and one by one.

    Example: `lopt check Qwen/Qwen3-8B data/*.jsonl --offsets`

    Exit status: 0 all equal, 1 something differs, 2 the model cannot be loaded or wrong usage.
    """
    inputs = find_inputs(files, None) if files else []
    original = models.load(model, revision, trust_remote_code)
    accelerated = models.accelerate(original, model, threads=threads)
    accelerated.lopt.decode_ids([])  # so that explain() knows who decodes
    explained = accelerated.lopt.explain()
    report = {"model": model, **explained, "machine": machine()}
    if not as_json:
        _print_route(report)
    # The route `hf` does not use chunks.
    chunked = None if explained["route"] == "hf" else models.accelerate(original, model, **_SHORT_CHUNKS)
    comparison = Comparison(original, accelerated, chunked, offsets)
    texts = of_inputs(inputs, field) if inputs else built_in_texts(original, _PROSE_CHARS)
    sizes = [None if one.compression else one.size for one in inputs]
    total = sum(size or 0 for size in sizes) if inputs and None not in sizes else None
    seconds = _compare(comparison, _pieces(texts, piece_chars), total, limit)
    counts = comparison.counts
    if not counts.size:
        raise CommandError("the files have no text")
    if as_json:
        print_json({**report, "equal": counts.different == 0, "seconds": seconds, "compared": asdict(counts)})
    else:
        _print_result(counts, seconds, "texts" if files else "built-in texts")
    if counts.different:
        raise typer.Exit(DIFFERENT)


def _pieces(samples: Iterable[Sample], chars: int) -> Iterator[Sample]:
    for sample in samples:
        for first in range(0, max(1, len(sample.text)), chars):
            origin = f"{sample.origin}, from character {first:,}" if first else sample.origin
            yield Sample(sample.text[first : first + chars], origin)


def _compare(comparison: Comparison, samples: Iterator[Sample], total: int | None, limit_mb: float | None) -> float:
    """Seconds."""
    counts = comparison.counts
    limit = None if limit_mb is None else int(limit_mb * 1e6)
    if limit is not None:
        total = limit if total is None else min(total, limit)
    start = time.perf_counter()
    with progress_bar() as bar:
        task = bar.add_task("comparing", total=total, rate="")
        while group := list(islice(samples, _BATCH_TEXTS)):
            comparison.compare(group)
            rate = f"{counts.texts:,} texts, {megabytes(counts.size / (time.perf_counter() - start))}/s"
            bar.update(task, completed=counts.size, rate=rate)
            if limit is not None and counts.size >= limit:
                break
    return time.perf_counter() - start


@dataclass
class Counts:
    """What was compared. `size`: bytes of UTF-8, `tokens`: Hugging Face's; both count each text once.

    first  the first difference: origin of the text, call, index of the token, the text around it with the token's own
           part between «», ids and tokens around it, and a detail
    """

    texts: int = 0
    size: int = 0
    tokens: int = 0
    comparisons: int = 0
    offsets: int = 0
    different: int = 0
    first: dict[str, Any] | None = None


@dataclass
class Comparison:
    """`chunked` is the same tokenizer with short chunks; None skips that comparison."""

    original: Any
    accelerated: Any
    chunked: Any | None
    offsets: bool
    counts: Counts = field(default_factory=Counts)

    def compare(self, samples: Sequence[Sample]) -> None:
        """Compares each text by itself, and all of them as one batch."""
        expected = [self._text(sample) for sample in samples]
        batch = self.accelerated.lopt.encode_batch_ids([sample.text for sample in samples])
        for row, (sample, ids) in enumerate(zip(samples, expected, strict=True)):
            self._equal(sample, "encode_batch_ids", ids, batch.row(row).tolist())

    def _text(self, sample: Sample) -> list[int]:
        text, counts = sample.text, self.counts
        expected = self.original(text, return_offsets_mapping=self.offsets)
        ids: list[int] = list(expected["input_ids"])
        counts.texts += 1
        counts.size += len(text.encode("utf-8"))
        counts.tokens += len(ids)
        self._equal(sample, 'tokenizer(text)["input_ids"]', ids, self.accelerated(text)["input_ids"])
        self._equal(sample, "encode_ids", ids, self.accelerated.lopt.encode_ids(text).tolist())
        if self.chunked is not None:
            self._equal(sample, "encode_ids in short chunks", ids, self.chunked.lopt.encode_ids(text).tolist())
        if self.offsets:
            counts.offsets += len(ids)
            found = self.accelerated(text, return_offsets_mapping=True)
            self._equal(sample, 'tokenizer(text, return_offsets_mapping=True)["input_ids"]', ids, found["input_ids"])
            wanted, given = (list(map(tuple, encoding["offset_mapping"])) for encoding in (expected, found))
            self._equal(sample, "offset_mapping", wanted, given, ids)
        self._decoded(sample, ids)
        return ids

    def _decoded(self, sample: Sample, ids: list[int]) -> None:
        """Compares the text of all ids, the text of each id, and the parts of a stream."""
        for skip in (False, True):
            whole = self.original.decode(ids, skip_special_tokens=skip)
            found = self.accelerated.decode(ids, skip_special_tokens=skip)
            self._equal(sample, f"decode(ids, skip_special_tokens={skip})", [whole], [found], ids)
        backend = self.original.backend_tokenizer
        alone = [backend.decode([number], skip_special_tokens=False) for number in ids]
        lopt = self.accelerated.lopt
        self._equal(sample, "decode_batch of each id", alone, lopt.decode_batch([[number] for number in ids]), ids)
        parts = _parts(functools.partial(DecodeStream().step, backend), ids)
        self._equal(sample, "decode_stream", parts, _parts(lopt.decode_stream().step, ids), ids)

    def _equal(
        self, sample: Sample, call: str, expected: list[Any], found: list[Any], ids: list[int] | None = None
    ) -> None:
        """Compares ids, or the offsets or texts of `ids`."""
        self.counts.comparisons += 1
        if list(found) == expected:
            return
        self.counts.different += 1
        if self.counts.first is not None:
            return
        pairs = enumerate(zip_longest(expected, found, fillvalue=None))
        index, pair = next((index, pair) for index, pair in pairs if pair[0] != pair[1])
        around = slice(max(0, index - _CONTEXT_TOKENS), index + _CONTEXT_TOKENS + 1)
        expected_ids, found_ids = (expected, list(found)) if ids is None else (ids, ids)
        tokens = self.original.convert_ids_to_tokens
        self.counts.first = {
            "origin": sample.origin,
            "call": call,
            "index": index,
            "text": self._around(sample.text, index),
            "expected_ids": expected_ids[around],
            "found_ids": found_ids[around],
            "expected_tokens": tokens(expected_ids[around]),
            "found_tokens": tokens(found_ids[around]),
            "detail": "" if ids is None else f"{_shortened(pair[0])}, found {_shortened(pair[1])}",
        }

    def _around(self, text: str, index: int) -> str:
        offsets = self.original(text, return_offsets_mapping=True)["offset_mapping"]
        begin, end = offsets[index] if index < len(offsets) else (len(text), len(text))
        parts = (text[max(0, begin - _CONTEXT_CHARS) : begin], text[begin:end], text[end : end + _CONTEXT_CHARS])
        return "{}«{}»{}".format(*(repr(part)[1:-1] for part in parts))


def _parts(step: Callable[[int], str | None], ids: list[int]) -> list[str | None]:
    """What a stream returns at each step, up to the first error."""
    found: list[str | None] = []
    try:
        found.extend(step(number) for number in ids)
    except Exception as error:
        found.append(str(error))
    return found


def _shortened(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}..."


def _print_route(report: dict[str, Any]) -> None:
    rows = {"route": report["route"], "reason": report["reason"]}
    rows |= {name.replace("_", " "): value for name, value in (report["pipeline"] or {}).items()}
    checked, found = report["self_check"], report["machine"]
    if checked is not None:
        passed = "passed" if checked["mismatch"] is None else f"different ids in {checked['mismatch']}"
        rows["self-check"] = f"{checked['texts']} texts, {1e3 * checked['seconds']:.0f} ms, {passed}"
    decoding = report["decoding"]
    rows["decoding"] = f"{decoding['route']}: {decoding['reason']}"
    threads = f"up to {report['threads']} for a text of {report['parallel_min_chars']:,} characters or more"
    rows["threads"] = f"{threads}; {found['processor']}, {found['cpus']} CPUs"
    rows["GPU"] = ", ".join(found["gpus"]) or "none"
    versions = {name.replace("-", "_"): version for name, version in found["versions"].items()} | report["versions"]
    rows["versions"] = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    _print_rows(rows)


def _print_result(counts: Counts, seconds: float, kind: str) -> None:
    console = results()
    what = f"{counts.texts:,} {kind}, {megabytes(counts.size)}, {counts.tokens:,} tokens"
    what += f", {counts.offsets:,} offsets" if counts.offsets else ""
    if counts.first is None:
        console.print(f"[bold green]equal[/]      {what}: {counts.comparisons:,} comparisons in {seconds:.1f} s")
        return
    console.print(f"[bold red]DIFFERENT[/]  {counts.different:,} of {counts.comparisons:,} comparisons; {what}")
    first = counts.first
    rows = {"first": "{origin}, token {index:,}, by {call} {detail}".format(**first).strip(), "text": first["text"]}
    rows |= {
        name: f"{first[f'{key}_ids']} {first[f'{key}_tokens']}" for name, key in (("HF", "expected"), ("lopt", "found"))
    }
    _print_rows(rows)


def _print_rows(rows: dict[str, Any]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(str(value)))
    results().print(table)
