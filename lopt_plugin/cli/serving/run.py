"""The demo itself: a server and this process tokenize one long prompt, and both are compared with Hugging Face."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import lopt_plugin

from ..output import DIFFERENT, CommandError, print_line
from .server import Answer, EngineServer
from .tiny_model import MAX_MODEL_LEN

ABOUT_TOKENS = 106_000
REPEATS = 5


class Subject(NamedTuple):
    """The model to serve, and the prompt to send to it.

    model      folder of the model
    tokenizer  folder of the tokenizer, or its name on the hub; None if it is in the model's folder
    loaded     that tokenizer, freshly loaded by transformers, because the first call is timed
    prompt     a text that fits into the model's context, and its description
    """

    model: Path
    tokenizer: str | None
    loaded: Any
    prompt: str
    prompt_name: str


def run(engine: type[EngineServer], subject: Subject, folder: Path, compare: bool) -> str:
    """Prints its steps and results; returns the plugin's line in the server's log.

    The servers write their logs to `folder`. With `compare`, a server with the engine's own tokenizer runs too. Raises
    CommandError if ids differ or the plugin was not active, ServerError if a server does not start or answer.
    """
    expected, equal_here = _tokenize_here(subject)
    log = folder / "server_lopt.log"
    first, plugin_line = _serve(engine, subject, log, "lopt")
    if compare:
        _serve(engine, subject, folder / "server_hf.log", engine.own_mode)
    equal = sum(ours == theirs for ours, theirs in zip(first.prompt_ids, expected, strict=False))
    print_line(f"Ids        {equal:,} of {len(expected):,} equal to Hugging Face's")
    if not equal_here or first.prompt_ids != expected:
        raise CommandError(f"the ids differ; the server's log is {log}", DIFFERENT)
    if plugin_line is None:
        raise CommandError(f"lopt was not active in {engine.name}; its log is {log}")
    return plugin_line


def _tokenize_here(subject: Subject) -> tuple[list[int], bool]:
    """Hugging Face's ids of the prompt, and whether ours are the same."""
    ours = lopt_plugin.accelerate(subject.loaded)
    hf_seconds, expected = _timed(subject.loaded, subject.prompt)
    lopt_seconds, found = _timed(ours, subject.prompt)
    explained = ours.lopt.explain(subject.prompt)
    route = explained["text"]["route"]
    why = explained["reason"] if route == "hf" else f"up to {explained['threads']} threads"
    print_line(f"Prompt     {subject.prompt_name}: {len(subject.prompt):,} characters, {len(expected):,} tokens")
    print_line(f"Tokenizing it (the first call, and the median of {REPEATS})")
    print_line(f"  Hugging Face   {_milliseconds(hf_seconds)}")
    print_line(f"  lopt           {_milliseconds(lopt_seconds)}   route {route}, {why}")
    print_line(f"  {hf_seconds[0] / lopt_seconds[0]:.1f} x Hugging Face's speed in the first call")
    if found != expected:
        print_line("  THE IDS DIFFER from Hugging Face's")
    return expected, found == expected


def _serve(engine: type[EngineServer], subject: Subject, log: Path, mode: str) -> tuple[Answer, str | None]:
    """The answer to the prompt, which is sent twice, and the plugin's log line."""
    print_line(f"Server     {engine.module} serve {engine.options[0]} {mode}   (log: {log})")
    start = time.perf_counter()
    with engine(
        subject.model,
        log,
        mode,
        context_length=MAX_MODEL_LEN,
        tokenizer=subject.tokenizer,
        arguments=engine.for_times,
    ) as server:
        print_line(f"  ready after {time.perf_counter() - start:.0f} s; a CPU needs a minute to read 100,000 tokens")
        first, again = server.answer(subject.prompt), server.answer(subject.prompt)
        said = plugin_line(server)
    name = mode if mode == "lopt" else f"{engine.name}'s own"
    if mode == "lopt":
        print_line(f"  {engine.name + ' logs':14} {said or 'nothing about lopt_plugin: it was not active'}")
    print_line(f"  {name}: {1000 * first.to_engine_s:.0f} ms from the request's arrival to the engine")
    print_line(
        f"  {name}: {first.whole_s:.2f} s for the whole answer; {1000 * again.whole_s:.0f} ms the second time, when "
        "the engine has it in its prefix cache"
    )
    return first, said


def plugin_line(server: EngineServer) -> str | None:
    """The plugin's first line in the server's log, without what the engine writes before it; None if there is none."""
    begins = f"lopt_plugin {lopt_plugin.__version__}:"
    return next((line[line.index(begins) :] for line in server.log_lines(begins)), None)


def _timed(tokenizer: Any, text: str) -> tuple[list[float], list[int]]:
    """Seconds of each call, and the ids of the first."""
    seconds, ids = [], []
    for _ in range(REPEATS):
        start = time.perf_counter()
        ids.append(tokenizer(text)["input_ids"])
        seconds.append(time.perf_counter() - start)
    return seconds, ids[0]


def _milliseconds(seconds: list[float]) -> str:
    return f"{1000 * seconds[0]:8.1f} ms {1000 * statistics.median(seconds):8.1f} ms"
