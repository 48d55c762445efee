"""lopt encode: a corpus to files of ids."""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..corpus.inputs import Input, find_inputs
from ..corpus.job import MOST_SHARD_TOKENS, BadRecordError, Job, Progress
from ..corpus.manifest import Origin
from ..corpus.shards import check_shard_format
from . import model as models
from .failure import INTERRUPTED, CommandError, ends_well
from .terminal import errors, megabytes, print_json, progress_bar, results


class Format(str, Enum):
    """Of the input files."""

    TEXT = "text"
    JSONL = "jsonl"
    PARQUET = "parquet"


class SampleBy(str, Enum):
    """What a document of a text file is."""

    DOCUMENT = "document"
    LINE = "line"


class ShardFormat(str, Enum):
    """Of the files written."""

    NPY = "npy"
    PARQUET = "parquet"
    ARROW = "arrow"


class Dtype(str, Enum):
    """Of the ids in the files."""

    AUTO = "auto"
    INT32 = "int32"
    UINT16 = "uint16"


class OnError(str, Enum):
    """What becomes of a record that gives no text."""

    STOP = "stop"
    SKIP = "skip"


@ends_well(on_error=1)
def encode(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Folder with a tokenizer, tokenizer.json, or name on the hub.")
    ],
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Files, folders, patterns with *, addresses (s3://...), - for stdin."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the shards; it is made if need be.")],
    field: Annotated[str, typer.Option(help="Field of the JSON lines or column of the Parquet files.")] = "text",
    file_format: Annotated[
        Format | None, typer.Option("--format", help="Of the inputs. By default by their names; stdin is text.")
    ] = None,
    sample_by: Annotated[
        SampleBy, typer.Option(help="A document of a text file: the whole file, or each line without its end.")
    ] = SampleBy.DOCUMENT,
    shard_format: Annotated[
        ShardFormat,
        typer.Option(help="npy: shard-N.ids.npy and .offsets.npy. parquet, arrow: one list column, input_ids."),
    ] = ShardFormat.NPY,
    dtype: Annotated[Dtype, typer.Option(help="auto: uint16 where every id fits, else int32.")] = Dtype.AUTO,
    shard_tokens: Annotated[
        int, typer.Option(min=1, max=MOST_SHARD_TOKENS, help="A shard ends once it has as many.")
    ] = 1 << 25,
    special_tokens: Annotated[
        bool, typer.Option(help="Add the special tokens that the tokenizer puts around a text.")
    ] = True,
    on_error: Annotated[
        OnError, typer.Option(help="For a bad line or row: stop there, or skip, count and list it.")
    ] = OnError.STOP,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads. Default: all CPUs of the process.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew instead of going on.")] = False,
    revision: Annotated[str | None, typer.Option(help="Revision of the model on the hub.")] = None,
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="As in transformers.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Encode text, JSON lines or Parquet (also .gz, .zst, .xz, .bz2) into shards of token ids.

    The same command goes on where an earlier one was ended, by Ctrl-C, a kill or a crash: no document is lost or comes
    twice, and the shards are those of a run without a break. manifest.json in the folder says what is in them.

    Exit status: 0 done, 1 stopped at a bad record or an error, 2 the model cannot be loaded or wrong usage,
    130 interrupted.
    """
    check_shard_format(shard_format.value)
    found = find_inputs(inputs, None if file_format is None else file_format.value)
    tokenizer = models.accelerate(models.load(model, revision, trust_remote_code), model, threads=threads)
    explained = tokenizer.lopt.explain()
    origin = Origin(
        tokenizer=hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode()).hexdigest(),
        column=field,
        sample_by=sample_by.value,
        add_special_tokens=special_tokens,
        shard_format=shard_format.value,
        dtype=_dtype(tokenizer, dtype),
        shard_tokens=shard_tokens,
        inputs=tuple(found),
    )
    about = {"model": model, "versions": explained["versions"]}
    if explained["route"] == "hf" and not quiet:
        errors().print(f"Hugging Face does the work: {explained['reason']}", style="yellow", markup=False)
    job = Job(tokenizer.lopt, origin, out, about, on_error is OnError.SKIP)
    start = time.perf_counter()
    try:
        progress = _run(job, found, overwrite, not quiet)
    except BadRecordError as error:
        hint = "--on-error skip goes on without such records, and lists them"
        raise CommandError(str(error), 1, hint) from None
    except KeyboardInterrupt:
        raise CommandError("interrupted; the same command goes on from here", INTERRUPTED) from None
    _report(progress, time.perf_counter() - start, origin, out, as_json)


def _run(job: Job, found: list[Input], overwrite: bool, shown: bool) -> Progress:
    sizes = [one.size for one in found]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    start = time.perf_counter()
    with progress_bar(shown) as bar:
        task = bar.add_task("encoding", total=total, rate="")

        def report(progress: Progress) -> None:
            speed = (progress.size - progress.resumed) / (time.perf_counter() - start)
            rate = f"{megabytes(progress.size)}, {megabytes(speed)}/s, {progress.tokens:,} tokens"
            bar.update(task, completed=progress.stored, rate=rate)

        return job.run(report, overwrite)


def _dtype(tokenizer: Any, wanted: Dtype) -> str:
    largest = max(tokenizer.get_vocab().values(), default=0)
    if wanted is Dtype.UINT16 and largest > 0xFFFF:
        raise CommandError(f"--dtype uint16: the tokenizer has ids up to {largest:,}", 2)
    if wanted is Dtype.AUTO:
        return "uint16" if largest <= 0xFFFF else "int32"
    return str(wanted.value)


def _report(progress: Progress, seconds: float, origin: Origin, out: Path, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(progress), "seconds": seconds, "dtype": origin.dtype, "out": str(out)})
        return
    console = results()
    if progress.already_complete:
        console.print(f"{out} is complete already (--overwrite begins anew)", markup=False, soft_wrap=True)
    speed = "" if progress.already_complete else f" in {seconds:.1f} s"
    if not progress.already_complete and seconds > 0:
        speed += f" ({megabytes((progress.size - progress.resumed) / seconds)}/s)"
    if progress.resumed and not progress.already_complete:
        speed += f"; {megabytes(progress.resumed)} were done before"
    console.print(
        f"{progress.documents:,} documents, {progress.tokens:,} tokens ({origin.dtype}), {progress.shards} shards "
        f"from {megabytes(progress.size)}{speed}",
        markup=False,
        soft_wrap=True,
    )
    if progress.skipped:
        console.print(f"{progress.skipped:,} records were skipped; {out}/skipped-*.jsonl lists them", soft_wrap=True)
        for line in progress.first_skipped:
            console.print(f"  {line}", markup=False, soft_wrap=True)
