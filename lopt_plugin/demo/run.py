"""The demo itself: one long prompt, tokenized here and by a real server, its ids and times beside Hugging Face's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .engines import Answer, Engine
from .prompt import TextSource, read_prompt

REPEATS = 5


@dataclass(frozen=True)
class Served:
    """What one server did with the prompt, and with the same once more; the plugin's line in its log, if any."""

    first: Answer
    again: Answer
    says: str | None


@dataclass(frozen=True)
class Outcome:
    """How many ids of the server, and of the library in this process, are Hugging Face's; the server's line and log."""

    equal: int
    served: int
    expected: int
    library_is_equal: bool
    says: str | None
    log: Path

    @property
    def all_equal(self) -> bool:
        """Whether every id is Hugging Face's, none too many or too few."""
        return self.library_is_equal and self.equal == self.served == self.expected


@dataclass(frozen=True)
class Subject:
    """A model for the engine, and the tokenizer in question.

    `tokenizer` is its folder or name on the hub where it does not lie beside the model. `load` gives a new Hugging Face
    tokenizer each time, `accelerate` such a one accelerated.
    """

    model: Path
    tokenizer: str | None
    load: Callable[[], Any]
    accelerate: Callable[[Any], Any]


def run(engine: Engine, subject: Subject, source: TextSource, tokens: int, folder: Path, compare: bool) -> Outcome:
    """Prints what it does and finds. The server's log goes to `folder`. `compare`: a server without lopt, too.

    Raises ServerError if a server does not start or answer, NoTokensError for a text without tokens.
    """
    prompt, expected = read_prompt(source, subject.load(), tokens)
    _say(f"Prompt     {prompt.name}: {len(prompt.text):,} characters, {len(expected):,} tokens")
    library_is_equal = _tokenize_here(subject, prompt.text, expected)
    log = folder / "server_lopt.log"
    served = _serve(engine, subject, log, prompt.text, lopt=True)
    _say(f"  {engine.name + ' says':14} {served.says or 'nothing about lopt_plugin: it was not active'}")
    _report("lopt", served)
    if compare:
        own = _serve(engine, subject, folder / "server_hf.log", prompt.text, lopt=False)
        _report(f"{engine.name}'s own", own)
    ids = served.first.prompt_ids
    equal = sum(ours == theirs for ours, theirs in zip(ids, expected, strict=False))
    _say(f"Ids        {equal:,} of {len(expected):,} equal to Hugging Face's")
    return Outcome(equal, len(ids), len(expected), library_is_equal, served.says, log)


def _tokenize_here(subject: Subject, text: str, expected: list[int]) -> bool:
    hugging_face = subject.load()
    hf_seconds = _times(lambda: hugging_face(text))
    ours = subject.accelerate(subject.load())
    lopt_seconds = _times(lambda: ours(text))
    _say(f"Tokenizing it (the first call, and the median of {REPEATS})")
    _say(f"  Hugging Face   {_milliseconds(hf_seconds)}")
    _say(f"  lopt           {_milliseconds(lopt_seconds)}   {_way(ours.lopt.explain(text))}")
    ratio = hf_seconds[0] / lopt_seconds[0]
    _say(f"  {ratio:.1f} times as fast" if ratio >= 1 else f"  {1 / ratio:.1f} times as slow", "at first sight")
    is_equal: bool = ours(text)["input_ids"] == expected
    if not is_equal:
        _say("  OTHER IDS than Hugging Face's")
    return is_equal


def _way(explained: dict[str, Any]) -> str:
    route = explained["text"]["route"]
    if route == "hf":
        return f"route hf: {explained['reason']}"
    return f"route {route}, up to {explained['threads']} threads"


def _serve(engine: Engine, subject: Subject, log: Path, text: str, *, lopt: bool) -> Served:
    from .. import __version__

    _say(f"Server     {engine.lopt_option if lopt else engine.own_option}   (log: {log})")
    start = time.perf_counter()
    with engine.server(subject.model, subject.tokenizer, log, lopt) as server:
        _say(f"  ready after {time.perf_counter() - start:.0f} s; a CPU needs a minute to read 100,000 tokens")
        first, again = engine.ask(server, text), engine.ask(server, text)
        begins = f"lopt_plugin {__version__}:"
        said = [line[line.index(begins) :] for line in server.log_lines(begins)]
    return Served(first, again, said[0] if said else None)


def _report(name: str, served: Served) -> None:
    _say(f"  {name}: from the request's arrival to the engine {1000 * served.first.to_engine_s:.0f} ms")
    _say(
        f"  {name}: whole answer {served.first.whole_s:.2f} s; again, now in the prefix cache, "
        f"{1000 * served.again.whole_s:.0f} ms"
    )


def _times(call: Callable[[], object]) -> list[float]:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def _milliseconds(seconds: list[float]) -> str:
    return f"{1000 * seconds[0]:8.1f} ms {1000 * statistics.median(seconds):8.1f} ms"


def _say(*words: str) -> None:
    print(*words, flush=True)
