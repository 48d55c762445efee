"""The demo itself: a server and this process tokenize one long prompt; prints ids and times beside Hugging Face's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ..output import DIFFERENT, CommandError
from .server import Answer, EngineServer
from .tiny_model import MAX_MODEL_LEN

ABOUT_TOKENS = 106_000
REPEATS = 5
_SAMPLE_CHARS = 100_000

# Gives a text of about that many characters, or a shorter one if there are no more; and what to call it.
TextSource = Callable[[int], tuple[str, str]]


class Subject(NamedTuple):
    """A model for the engine, and its tokenizer.

    `tokenizer` is its folder or name on the hub, if it is not in the model's folder. `load` gives a new Hugging Face
    tokenizer each time, `accelerate` an accelerated copy of it.
    """

    model: Path
    tokenizer: str | None
    load: Callable[[], Any]
    accelerate: Callable[[Any], Any]


def run(
    engine: type[EngineServer], subject: Subject, source: TextSource, tokens: int, folder: Path, compare: bool
) -> str:
    """Prints its steps and results; returns the plugin's line in the server's log.

    The prompt has about `tokens` tokens, the servers' logs are in `folder`; `compare` runs a server with the engine's
    own tokenizer too. Raises CommandError if ids differ, the plugin was not active or the text has no tokens,
    ServerError if a server does not start or does not answer.
    """
    text, name, expected = read_prompt(source, subject.load(), tokens)
    _print(f"Prompt     {name}: {len(text):,} characters, {len(expected):,} tokens")
    equal_here = _tokenize_here(subject, text, expected)
    log = folder / "server_lopt.log"
    first, plugin_line = _serve(engine, subject, log, text, "lopt")
    if compare:
        _serve(engine, subject, folder / "server_hf.log", text, f"{engine.name}'s own")
    equal = sum(ours == theirs for ours, theirs in zip(first.prompt_ids, expected, strict=False))
    _print(f"Ids        {equal:,} of {len(expected):,} equal to Hugging Face's")
    if not equal_here or first.prompt_ids != expected:
        raise CommandError(f"the ids differ; the server's log is {log}", DIFFERENT)
    if plugin_line is None:
        raise CommandError(f"lopt was not active in {engine.name}; its log is {log}")
    return plugin_line


def read_prompt(source: TextSource, tokenizer: Any, tokens: int) -> tuple[str, str, list[int]]:
    """A prompt of about `tokens` tokens that fits into the tiny model's context, its name, and its ids."""
    sample, _ = source(_SAMPLE_CHARS)
    count = len(tokenizer(sample)["input_ids"])
    if not sample or not count:
        raise CommandError("the text has no tokens")
    chars = max(1, len(sample) * tokens // count)
    while True:
        text, name = source(chars)
        ids: list[int] = tokenizer(text)["input_ids"]
        if len(ids) < MAX_MODEL_LEN:
            return text, name, ids
        chars = len(text) * 9 // 10


def _tokenize_here(subject: Subject, text: str, expected: list[int]) -> bool:
    hugging_face, ours = subject.load(), subject.accelerate(subject.load())
    hf_seconds, lopt_seconds = _times(hugging_face, text), _times(ours, text)
    explained = ours.lopt.explain(text)
    route = explained["text"]["route"]
    why = explained["reason"] if route == "hf" else f"up to {explained['threads']} threads"
    _print(f"Tokenizing it (the first call, and the median of {REPEATS})")
    _print(f"  Hugging Face   {_milliseconds(hf_seconds)}")
    _print(f"  lopt           {_milliseconds(lopt_seconds)}   route {route}, {why}")
    ratio = hf_seconds[0] / lopt_seconds[0]
    speed = f"{ratio:.1f} times as fast" if ratio >= 1 else f"{1 / ratio:.1f} times as slow"
    _print(f"  {speed} in the first call")
    is_equal: bool = ours(text)["input_ids"] == expected
    if not is_equal:
        _print("  THE IDS DIFFER from Hugging Face's")
    return is_equal


def _serve(engine: type[EngineServer], subject: Subject, log: Path, text: str, name: str) -> tuple[Answer, str | None]:
    """The answer to the prompt, which is sent twice, and the plugin's line in the log."""
    from ... import __version__

    lopt = name == "lopt"
    _print(f"Server     {engine.lopt_option if lopt else engine.own_option}   (log: {log})")
    start = time.perf_counter()
    with engine.for_prompts(subject.model, subject.tokenizer, log, lopt) as server:
        _print(f"  ready after {time.perf_counter() - start:.0f} s; a CPU needs a minute to read 100,000 tokens")
        first, again = server.answer(text), server.answer(text)
        begins = f"lopt_plugin {__version__}:"
        lines = [line[line.index(begins) :] for line in server.log_lines(begins)]
    if lopt:
        _print(f"  {engine.name + ' logs':14} {lines[0] if lines else 'nothing about lopt_plugin: it was not active'}")
    _print(f"  {name}: {1000 * first.to_engine_s:.0f} ms from the request's arrival to the engine")
    _print(
        f"  {name}: {first.whole_s:.2f} s for the whole answer; {1000 * again.whole_s:.0f} ms the second time, when "
        "the engine has it in its prefix cache"
    )
    return first, lines[0] if lines else None


def _times(tokenizer: Any, text: str) -> list[float]:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        tokenizer(text)
        seconds.append(time.perf_counter() - start)
    return seconds


def _milliseconds(seconds: list[float]) -> str:
    return f"{1000 * seconds[0]:8.1f} ms {1000 * statistics.median(seconds):8.1f} ms"


def _print(line: str) -> None:
    print(line, flush=True)
