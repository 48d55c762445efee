"""Starts the real vLLM server with `--tokenizer-mode lopt`, sends it a book, and compares with Hugging Face.

    python demo.py [--compare]

The model has random weights, so that nothing is downloaded; the tokenizer and the server are real. With --compare, a
second server without lopt gets the same prompt. `make demo` makes the environment and runs this in it.
"""

from __future__ import annotations

import argparse
import http.client
import signal
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book import Book, long_english_text
from tiny_model import MAX_MODEL_LEN, REPOSITORY, build, find_tokenizer
from vllm_server import ServerError, VllmServer

import lopt_plugin

# Below build/, which git ignores; written anew by every run.
FOLDER = REPOSITORY / "build" / "vllm_demo"
# How the plugin's line in the server's log begins.
SAYS = f"lopt_plugin {lopt_plugin.__version__}:"
ABOUT_TOKENS = 106_000
TOKENS_AT_LEAST = 100_000
REPEATS = 5


@dataclass(frozen=True)
class Served:
    """What one server did with the prompt. Times in seconds."""

    prompt_ids: list[int]
    to_engine_s: float
    first_answer_s: float
    cached_answer_s: float


def main() -> int:
    """Runs the demo; returns the exit status."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true", help="also run a server with vLLM's own tokenizer mode")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _exit_on_signal)
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        return run(FOLDER, arguments.compare)
    except KeyboardInterrupt:
        print("\nInterrupted. The server has been stopped.")
        return 130
    except ServerError as error:
        print(f"\nFAILED: {error}", file=sys.stderr)
        return 1


def run(folder: Path, compare: bool) -> int:
    """The demo with its files in `folder`."""
    tokenizer_file = find_tokenizer()
    print(f"Model      a tiny Qwen3 with random weights beside {tokenizer_file.name}")
    model = build(folder / "model", tokenizer_file)
    book, expected, hf_seconds = read_with_hugging_face(model)
    print(f"Prompt     {book.name}: {len(book.text):,} characters, {len(expected):,} tokens")

    lopt_seconds = time_lopt(model, book.text, expected)
    print(f"Tokenizing it (the first call, and the median of {REPEATS})")
    print(f"  Hugging Face   {_milliseconds(hf_seconds)}")
    print(f"  lopt           {_milliseconds(lopt_seconds)}")
    ratio = hf_seconds[0] / lopt_seconds[0]
    print(f"  {ratio:.1f} times as fast" if ratio >= 1 else f"  {1 / ratio:.1f} times as slow", "at first sight")

    log = folder / "server_lopt.log"
    served, active = serve(model, log, "lopt", book)
    print(f"  vLLM says      {active or 'nothing about lopt_plugin: it was not active'}")
    report("lopt", served)
    if compare:
        report("vLLM's own", serve(model, folder / "server_hf.log", "hf", book)[0])

    equal = sum(ours == theirs for ours, theirs in zip(served.prompt_ids, expected, strict=False))
    print(f"Ids        {equal:,} of {len(expected):,} equal to Hugging Face's")
    if served.prompt_ids != expected:
        print(f"FAILED: the ids differ; the server's log is {log}", file=sys.stderr)
        return 1
    if active is None or "takes the native route" not in active:
        print(f"FAILED: the prompt did not take the native route; the server's log is {log}", file=sys.stderr)
        return 1
    return 0


def read_with_hugging_face(model: Path) -> tuple[Book, list[int], list[float]]:
    """A book that is long enough, its ids by Hugging Face, and the times that they took."""
    from transformers import AutoTokenizer

    oracle = AutoTokenizer.from_pretrained(model)
    sample = long_english_text(100_000).text
    book = long_english_text(len(sample) * ABOUT_TOKENS // len(oracle(sample)["input_ids"]))
    expected = oracle(book.text)["input_ids"]
    if not TOKENS_AT_LEAST <= len(expected) < MAX_MODEL_LEN:
        raise ValueError(f"the prompt has {len(expected):,} tokens, not {TOKENS_AT_LEAST:,} to {MAX_MODEL_LEN:,}")
    fresh = AutoTokenizer.from_pretrained(model)
    return book, expected, _times(lambda: fresh(book.text))


def time_lopt(model: Path, text: str, expected: list[int]) -> list[float]:
    """The times of a new lopt tokenizer in this process. Raises ValueError if its ids are not the expected ones."""
    tokenizer = lopt_plugin.from_pretrained(model)
    seconds = _times(lambda: tokenizer(text))
    if tokenizer(text)["input_ids"] != expected:
        raise ValueError("lopt_plugin gave other ids than Hugging Face")
    return seconds


def serve(model: Path, log: Path, mode: str, book: Book) -> tuple[Served, str | None]:
    """Starts a server in that tokenizer mode, sends it the book twice and stops it; and its line about lopt_plugin."""
    print(f"Server     vllm serve --tokenizer-mode {mode}   (log: {log})")
    start = time.perf_counter()
    with VllmServer(model, log, tokenizer_mode=mode, max_model_len=MAX_MODEL_LEN, kv_cache_gib=2) as server:
        print(f"  ready after {time.perf_counter() - start:.0f} s; a CPU reads the prompt in about a minute")
        request = {"model": "tiny", "prompt": book.text, "max_tokens": 1, "temperature": 0, "return_token_ids": True}
        first, first_s = _answer(server, request)
        to_engine_s = _to_engine_s(server)
        _, cached_s = _answer(server, request)
        said = [line[line.index(SAYS) :] for line in server.log_lines(SAYS)]
    return Served(first["choices"][0]["prompt_token_ids"], to_engine_s, first_s, cached_s), said[0] if said else None


def report(name: str, served: Served) -> None:
    """Prints what one server did."""
    print(f"  {name}: from the request's arrival to the engine {1000 * served.to_engine_s:.0f} ms")
    print(f"  {name}: whole answer {served.first_answer_s:.2f} s; again, now in the prefix cache, "
          f"{1000 * served.cached_answer_s:.0f} ms")  # fmt: skip


def _answer(server: VllmServer, request: dict[str, Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    try:
        status, answer = server.post("/v1/completions", request)
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(f"the server did not answer ({error!r}); its log is {server.log}") from error
    seconds = time.perf_counter() - start
    if status != 200:
        raise ServerError(f"HTTP {status}: {answer}; the server's log is {server.log}")
    return answer, seconds


def _to_engine_s(server: VllmServer) -> float:
    # vLLM counts the first from before tokenization, the others from the engine's receipt of the request.
    return (
        server.metric("vllm:time_to_first_token_seconds_sum")
        - server.metric("vllm:request_queue_time_seconds_sum")
        - server.metric("vllm:request_prefill_time_seconds_sum")
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


def _exit_on_signal(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
