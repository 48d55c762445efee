"""lopt encode: tokenize a corpus into files of ids."""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from . import model as models, options
from .corpus.inputs import CorpusError, find_inputs, load_pyarrow
from .corpus.job import MOST_SHARD_TOKENS, BadRecordError, Job, Progress
from .corpus.manifest import Origin
from .output import INTERRUPTED, CommandError, ends_well, errors, megabytes, print_json, print_line, progress_bar


@ends_well(on_error=1)
def encode(
    model: options.Model,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Files, folders, patterns with *, addresses (s3://...), or - for stdin."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the shards; created if missing.")],
    field: options.Field = "text",
    file_format: Annotated[
        Literal["text", "jsonl", "parquet"] | None,
        typer.Option("--format", help="Format of the inputs. Default: determined by their names; stdin is text."),
    ] = None,
    sample_by: Annotated[
        Literal["document", "line"],
        typer.Option(help="What a document of a text file is: the whole file, or each line without its line break."),
    ] = "document",
    shard_format: Annotated[
        Literal["npy", "parquet", "arrow"],
        typer.Option(help="npy: shard-N.ids.npy and .offsets.npy. parquet, arrow: one list column, input_ids."),
    ] = "npy",
    dtype: Annotated[
        Literal["auto", "int32", "uint16"], typer.Option(help="auto: uint16 if every id fits, else int32.")
    ] = "auto",
    shard_tokens: Annotated[
        int, typer.Option(min=1, max=MOST_SHARD_TOKENS, help="A shard ends when it has this many tokens.")
    ] = 1 << 25,
    special_tokens: Annotated[bool, typer.Option(help="Add the tokenizer's special tokens to each document.")] = True,
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option(help="At a bad line or row: stop, or skip it, count it and list it.")
    ] = "stop",
    threads: options.Threads = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start again instead of resuming.")] = False,
    revision: options.Revision = None,
    trust_remote_code: options.TrustRemoteCode = False,
    as_json: options.AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Encode text, JSON lines or Parquet (also .gz, .zst, .xz, .bz2) into shards of token ids.

    Run the same command again to resume after Ctrl-C, a kill or a crash: no document is lost or repeated, and the
    shards are those of an uninterrupted run. manifest.json in the folder describes them.

    Example: `lopt encode Qwen/Qwen3-8B data/*.jsonl.zst --out ids/`

    Exit status: 0 done, 1 stopped at a bad record or an error, 2 the model cannot be loaded or wrong usage,
    130 interrupted.
    """
    try:
        if shard_format != "npy":
            load_pyarrow(f"--shard-format {shard_format}")
        found = find_inputs(inputs, file_format)
    except CorpusError as error:
        raise CommandError(str(error)) from None
    tokenizer = models.accelerate(models.load(model, revision, trust_remote_code), model, threads=threads)
    explained = tokenizer.lopt.explain()
    origin = Origin(
        tokenizer=hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest(),
        column=field,
        sample_by=sample_by,
        add_special_tokens=special_tokens,
        shard_format=shard_format,
        dtype=_dtype(tokenizer, dtype),
        shard_tokens=shard_tokens,
        inputs=tuple(found),
    )
    about = {"model": model, "versions": explained["versions"]}
    if explained["route"] == "hf" and not quiet:
        print_line(f"using the Hugging Face tokenizer: {explained['reason']}", errors(), "yellow")
    job = Job(tokenizer.lopt, origin, out, about, on_error == "skip")
    start = time.perf_counter()
    try:
        progress = _run(job, overwrite, not quiet)
    except BadRecordError as error:
        field_hint = "--field names another field; " if "no field" in str(error) else ""
        hint = f"{field_hint}--on-error skip continues without such records, and lists them"
        raise CommandError(str(error), 1, hint) from None
    except KeyboardInterrupt:
        raise CommandError("interrupted; run the same command to resume", INTERRUPTED) from None
    _report(progress, time.perf_counter() - start, origin, out, as_json)
    if progress.skipped and not progress.documents:
        raise CommandError(f"every record was skipped; {out}/skipped-*.jsonl has the reasons", 1)


def _run(job: Job, overwrite: bool, shown: bool) -> Progress:
    sizes = [one.size for one in job.origin.inputs]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    start = time.perf_counter()
    with progress_bar(shown) as bar:
        task = bar.add_task("encoding", total=total, rate="")

        def report(progress: Progress) -> None:
            if progress.resumed and progress.size == progress.resumed:
                print_line(f"resuming from shard {progress.shards}", errors())
            speed = (progress.size - progress.resumed) / (time.perf_counter() - start)
            rate = f"{megabytes(progress.size)}, {megabytes(speed)}/s, {progress.tokens:,} tokens"
            bar.update(task, completed=progress.stored, rate=rate)

        return job.run(report, overwrite)


def _dtype(tokenizer: Any, wanted: str) -> str:
    largest = max(tokenizer.get_vocab().values(), default=0)
    if wanted == "uint16" and largest > 0xFFFF:
        raise CommandError(f"--dtype uint16: the tokenizer has ids up to {largest:,}", 2)
    if wanted == "auto":
        return "uint16" if largest <= 0xFFFF else "int32"
    return wanted


def _report(progress: Progress, seconds: float, origin: Origin, out: Path, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(progress), "seconds": seconds, "dtype": origin.dtype, "out": str(out)})
        return
    speed = ""
    if progress.already_complete:
        print_line(f"{out} is already complete (--overwrite starts again)")
    else:
        speed = f" in {seconds:.1f} s ({megabytes((progress.size - progress.resumed) / seconds)}/s)"
        if progress.resumed:
            speed += f"; {megabytes(progress.resumed)} were done before"
    print_line(
        f"{progress.documents:,} documents, {progress.tokens:,} tokens ({origin.dtype}), {progress.shards} shards "
        f"from {megabytes(progress.size)}{speed}"
    )
    if progress.skipped:
        print_line(f"{progress.skipped:,} records were skipped; {out}/skipped-*.jsonl lists them")
