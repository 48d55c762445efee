"""lopt bench: how fast is it here, on this tokenizer and these texts, beside the others?"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..benchmarking.by_length import Plan, Point, measure, reachable_lengths
from ..benchmarking.machine import machine, machine_line
from ..settings import available_cpus
from . import model as models
from .bench_tables import by_length_table, main_table, remarks, scaling_table
from .failure import CANNOT_LOAD, DIFFERENT, CommandError, ends_well
from .terminal import progress_bar, results
from .texts import built_in_prose, of_files

PEERS = {"fastokens": ("fastokens",), "gigatoken": ("gigatoken", "gigatoken_batch"), "tiktoken": ("tiktoken",)}
_MOST_CHARS = 40_000_000
_BUILT_IN_CHARS = 12_000_000


@ends_well(on_error=CANNOT_LOAD)
def bench(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Folder with a tokenizer, tokenizer.json, or name on the hub.")
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE", help="Text, JSON lines or Parquet, also .gz, .zst. Default: Python's standard library."
        ),
    ] = None,
    peers: Annotated[
        str | None,
        typer.Option(help=f"Of {', '.join(PEERS)}, with commas; '' for none. Default: those that are installed."),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads and CPUs. Default: all of the process.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Fresh processes for each figure.")] = 1,
    max_bytes: Annotated[int, typer.Option(min=1, help="Leave longer prompts out.", metavar="BYTES")] = 10_000_000,
    field: Annotated[str, typer.Option(help="Field of the JSON lines or column of the Parquet files.")] = "text",
    plot: Annotated[Path | None, typer.Option(help="Write plots to this file (.png, .svg, .pdf).")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write every figure to this file.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for one process.")] = 600.0,
    revision: Annotated[str | None, typer.Option(help="Revision of the model on the hub.")] = None,
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="As in transformers.")] = False,
) -> None:
    """Measure one prompt at a time, text to list of ids, by prompt length, beside Hugging Face and other libraries.

    Each engine runs in fresh processes on prompts that are all different. Ids are compared with Hugging Face's before
    any number is shown.

    Exit status: 0 done, 1 some engine's ids differ or it failed, 2 the model cannot be loaded or wrong usage.
    """
    chosen, missing = _engines(peers)
    count = available_cpus() if threads is None else threads
    if count > available_cpus():
        raise CommandError(f"--threads {count}: this process may use {available_cpus()} CPUs", CANNOT_LOAD)
    if plot is not None:
        _check_plot(plot)
    for path in (plot, json_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"{path}: there is no such folder", CANNOT_LOAD)
    text = _text(files, field)
    tokenizer_json = _tokenizer_json(model, revision, trust_remote_code)
    lengths = [length for length in reachable_lengths(text) if length <= max_bytes]
    if not lengths:
        raise CommandError(f"--max-bytes {max_bytes}: the shortest prompts have {reachable_lengths(text)[0]} bytes", 2)
    scaling = [2**k for k in range(count.bit_length()) if 2**k < count]
    plan = Plan(["hf", "lopt", *chosen], lengths, count, scaling, repeat)
    console = results()
    console.print(machine_line(), markup=False, soft_wrap=True)
    points = _measure(tokenizer_json, text, plan, timeout)
    console.print()
    console.print(main_table(points, plan))
    console.print(by_length_table(points, plan))
    if scaling:
        console.print(scaling_table(points, plan))
    for remark in remarks(points, plan, missing):
        console.print(remark, markup=False, soft_wrap=True)
    if json_file is not None:
        settings = {"model": model, "files": files or "Python's standard library", **vars(plan)}
        content = {"settings": settings, "machine": machine(), "points": [asdict(point) for point in points]}
        json_file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if plot is not None:
        from .plots import draw

        draw(points, plan, plot, Path(model).name)
    if any(point.is_error for point in points):
        raise typer.Exit(DIFFERENT)


def _measure(tokenizer_json: str, text: str, plan: Plan, timeout: float) -> list[Point]:
    with progress_bar() as bar:
        task = bar.add_task("measuring", total=plan.steps, completed=-1, rate="")

        def step(what: str) -> None:
            bar.update(task, advance=1, rate=what)

        try:
            return measure(tokenizer_json, text, plan, timeout, step)
        except ValueError as error:
            raise CommandError(str(error), CANNOT_LOAD) from None


def _engines(peers: str | None) -> tuple[list[str], list[str]]:
    wanted = list(PEERS) if peers is None else [name for name in peers.split(",") if name]
    for name in wanted:
        if name not in PEERS:
            raise CommandError(f"--peers: no {name!r}; there are {', '.join(PEERS)}", CANNOT_LOAD)
    installed = [name for name in wanted if importlib.util.find_spec(name) is not None]
    return [engine for name in installed for engine in PEERS[name]], [n for n in wanted if n not in installed]


def _text(files: list[str] | None, field: str) -> str:
    if not files:
        return built_in_prose(_BUILT_IN_CHARS)
    texts: list[str] = []
    chars = 0
    for sample in of_files(files, field)[1]:
        texts.append(sample.text[: _MOST_CHARS - chars])
        chars += len(texts[-1])
        if chars >= _MOST_CHARS:
            break
    text = "\n".join(texts)
    if not text:
        raise CommandError("the files have no text", CANNOT_LOAD)
    return text


def _tokenizer_json(model: str, revision: str | None, trust_remote_code: bool) -> str:
    from tokenizers import Tokenizer

    tokenizer: Any = models.load(model, revision, trust_remote_code)
    try:
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    except AttributeError:
        raise CommandError(f"{model!r} is no fast tokenizer", CANNOT_LOAD) from None
    # Whole prompts: what a file says about cutting and padding is not measured.
    backend.no_truncation()
    backend.no_padding()
    return str(backend.to_str())


def _check_plot(path: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise CommandError("--plot needs matplotlib; pip install 'lopt-plugin[plot]'", CANNOT_LOAD)
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise CommandError(f"--plot {path}: .png, .svg or .pdf", CANNOT_LOAD)
