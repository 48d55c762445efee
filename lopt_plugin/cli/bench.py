"""lopt bench: speed on this machine, with this tokenizer and these texts, compared with other libraries."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..settings import available_cpus
from . import model as models, options
from .bench_gpu import bench_gpu
from .bench_report import draw, remarks, table, views
from .benchmarking.by_length import Plan, measure, reachable_lengths
from .benchmarking.machine import machine, machine_line
from .output import CANNOT_LOAD, DIFFERENT, CommandError, ends_well, print_line, progress_bar, results
from .texts import built_in_prose, first_chars

PEERS = {"fastokens": ("fastokens",), "gigatoken": ("gigatoken", "gigatoken_batch"), "tiktoken": ("tiktoken",)}
_MOST_CHARS = 40_000_000
_BUILT_IN_CHARS = 12_000_000


@ends_well(on_error=CANNOT_LOAD)
def bench(
    model: options.Model,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Text, JSON lines or Parquet, also .gz, .zst. Default: Python's standard library."
        ),
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option(help=f"Some of {', '.join(PEERS)}, comma-separated; '' for none. Default: those installed."),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads and CPUs. Default: all of the process.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Fresh processes per figure.")] = 1,
    max_bytes: Annotated[int, typer.Option(min=1, help="Skip longer prompts.", metavar="BYTES")] = 10_000_000,
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Only compare the GPU with all CPUs, and store from which size it is faster.")
    ] = False,
    field: options.Field = "text",
    plot: Annotated[Path | None, typer.Option(help="Write plots to this file (.png, .svg, .pdf).")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write every figure to this file.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Time limit of one process, in seconds.")] = 600.0,
    revision: options.Revision = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Measure the speed of text to list of ids, by prompt length, for lopt, Hugging Face and other libraries.

    Each engine runs in fresh processes, one prompt at a time, and no two prompts are the same. Ids are compared with
    Hugging Face's before any number is shown.

    Example: `lopt bench Qwen/Qwen3-8B book.txt --plot speed.svg`

    With --gpu, the GPU kernels are compiled, and batches of growing size are timed on the GPU and on the CPUs. The size
    from which the GPU is faster is stored; from then on larger batches go to it in processes that use CUDA.

    Exit status: 0 done, 1 an engine failed or its ids differ, 2 the model cannot be loaded or wrong usage.
    """
    chosen, missing = _engines(peers)
    count = available_cpus() if threads is None else threads
    if count > available_cpus():
        raise CommandError(f"--threads {count}: this process may use {available_cpus()} CPUs")
    if gpu:
        if plot is not None or json_file is not None or peers is not None:
            raise CommandError("--gpu takes none of --plot, --json and --peers")
        bench_gpu(_load(model, revision, trust_remote_code), files or [], field, count, max_bytes)
        return
    _check_outputs(plot, json_file)
    text = first_chars(files, field, _MOST_CHARS) if files else built_in_prose(_BUILT_IN_CHARS)
    if not text:
        raise CommandError("the files have no text")
    content = json.loads(_load(model, revision, trust_remote_code).backend_tokenizer.to_str())
    # Whole prompts are measured, even if the file sets truncation or padding.
    tokenizer_json = json.dumps({**content, "truncation": None, "padding": None})
    lengths = [length for length in reachable_lengths(text) if length <= max_bytes]
    if not lengths:
        raise CommandError(f"--max-bytes {max_bytes}: the shortest prompts have {reachable_lengths(text)[0]} bytes")
    scaling = [2**k for k in range(count.bit_length()) if 2**k < count]
    plan = Plan(["hf", "lopt", *chosen], lengths, count, scaling, repeat)
    print_line(machine_line())
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=plan.steps, completed=-1, rate="")
        points = measure(tokenizer_json, text, plan, timeout, lambda what: bar.update(task, advance=1, rate=what))
    shown = views(points, plan)
    results().print("", *map(table, shown), sep="\n")
    for remark in remarks(points, plan, missing):
        print_line(remark)
    if json_file is not None:
        settings = {"model": model, "files": files or "Python's standard library", **vars(plan)}
        report = {"settings": settings, "machine": machine(), "points": [asdict(point) for point in points]}
        json_file.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if plot is not None:
        draw(shown, plot, Path(model).name)
    if any(point.is_error for point in points):
        raise typer.Exit(DIFFERENT)


def _engines(peers: str | None) -> tuple[list[str], list[str]]:
    """The engines of the installed peers, and the names of the others."""
    wanted = list(PEERS) if peers is None else [name for name in peers.split(",") if name]
    for name in wanted:
        if name not in PEERS:
            raise CommandError(f"--peers: unknown peer {name!r}; known are {', '.join(PEERS)}")
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if peers is not None and missing:
        raise CommandError(f"--peers: {missing[0]} is not installed; pip install {' '.join(missing)}")
    return [engine for name in wanted if name not in missing for engine in PEERS[name]], missing


def _check_outputs(plot: Path | None, json_file: Path | None) -> None:
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise CommandError("--plot needs matplotlib; pip install 'lopt-plugin[plot]'")
    if plot is not None and plot.suffix not in (".png", ".svg", ".pdf"):
        raise CommandError(f"--plot {plot}: the name must end in .png, .svg or .pdf")
    for path in (plot, json_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"{path}: no such folder")


def _load(model: str, revision: str | None, trust_remote_code: bool) -> Any:
    """A tokenizer that runs on the tokenizers library. Raises CommandError."""
    tokenizer = models.load(model, revision, trust_remote_code)
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise CommandError(f"{model!r} is not a fast tokenizer")
    return tokenizer
