"""Serves a long-context model with SGLang and `--tokenizer-backend lopt`, and sends it a long document.

    python long_context.py [MODEL] [--compare] [--tokens N]

MODEL is a folder or a name on the hub; without it, the model is a tiny one with random weights, so that nothing is
downloaded: the tokenizer and the server are real. With --compare, a second server with SGLang's own backend gets the
same documents. `make demo-sglang` makes the environment and runs this script in it.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vllm_demo"))

from book import long_english_text
from demo import exit_status
from tiny_model import REPOSITORY, build

from lopt_plugin.cli.serving.run import plugin_line
from lopt_plugin.cli.serving.sglang_server import SglangServer, is_for_cpu

# In build/, which git ignores; every run writes it again.
FOLDER = REPOSITORY / "build" / "sglang_demo"
# A CPU needs seconds for the attention over a few thousand tokens.
TOKENS_ON_CPU, TOKENS_ON_GPU = 8_000, 100_000


def main() -> int:
    """Runs the demo; returns the exit status."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("--compare", action="store_true", help="also run a server with the backend huggingface")
    parser.add_argument("--tokens", type=int, default=TOKENS_ON_CPU if is_for_cpu() else TOKENS_ON_GPU)
    arguments = parser.parse_args()
    if importlib.util.find_spec("sglang") is None:
        parser.error(f"SGLang is not installed for {sys.executable}: pip install 'lopt-plugin[sglang]'")
    return exit_status(FOLDER, lambda: run(FOLDER, arguments.model, arguments.tokens, arguments.compare))


def run(folder: Path, model: str | None, tokens: int, compare: bool) -> int:
    """The demo with its files in `folder`: a document of about `tokens` tokens."""
    from transformers import AutoTokenizer

    if model is None:
        print("Model      a tiny Qwen3 with random weights, and Qwen3's real tokenizer")
        model = str(build(folder / "model"))
    else:
        print(f"Model      {model}")
    oracle = AutoTokenizer.from_pretrained(model)
    warm_up, document, name = documents(oracle, tokens)
    expected = oracle(document)["input_ids"]
    print(f"Document   {name}: {len(document):,} characters, {len(expected):,} tokens")

    ids, said = serve(folder, model, "lopt", warm_up, document, len(expected))
    print(f"  SGLang logs  {said or 'nothing about lopt_plugin: it was not active'}")
    if compare:
        serve(folder, model, "huggingface", warm_up, document, len(expected))

    equal = sum(ours == theirs for ours, theirs in zip(ids, expected, strict=False))
    print(f"Ids        {equal:,} of {len(expected):,} equal to Hugging Face's")
    if ids != expected:
        print("FAILED: the ids differ", file=sys.stderr)
        return 1
    if said is None or "takes the native route" not in said:
        print("FAILED: the document did not take the native route", file=sys.stderr)
        return 1
    return 0


def documents(oracle: Any, tokens: int) -> tuple[str, str, str]:
    """A document to warm up with, another one of about `tokens` tokens, and a name for the latter."""
    sample, _ = long_english_text(100_000)
    characters = len(sample) * tokens // len(oracle(sample)["input_ids"])
    book, name = long_english_text(2 * characters)
    # Its second half, so that no cache has seen the words in this order.
    return book[: min(characters, 20_000)], book[-characters:], f"from {name.removeprefix('the ')}"


def serve(
    folder: Path, model: str, backend: str, warm_up: str, document: str, tokens: int
) -> tuple[list[int], str | None]:
    """Starts a server with that tokenizer backend, sends it both documents, stops it, and prints what it did.

    Returns the document's ids, and the plugin's line in the server's log.
    """
    log = folder / f"server_{backend}.log"
    print(f"Server     sglang serve --tokenizer-backend {backend}   (log: {log})")
    start = time.perf_counter()
    # A CPU does not have the memory for the context of a real model.
    context_length = tokens + 16_384 if is_for_cpu() else None
    with SglangServer(model, log, backend, context_length=context_length, arguments=SglangServer.for_times) as server:
        print(f"  ready after {time.perf_counter() - start:.0f} s")
        _generate(server, warm_up)
        answer = _generate(server, document)
        said = plugin_line(server)
    # Seconds from the request's arrival.
    times = answer["meta_info"]
    to_engine_s = times["api_server_dispatch_finish_ts"] - times["request_received_ts"]
    first_token_s = times["first_token_latency"]
    print(
        f"  {backend}: to the engine {1000 * to_engine_s:.1f} ms, to the first token {1000 * first_token_s:.0f} ms: "
        f"tokenization is {100 * to_engine_s / first_token_s:.1f}%"
    )
    return answer["prompt_token_ids"], said


def _generate(server: SglangServer, text: str) -> Any:
    request = {
        "text": text,
        "sampling_params": {"max_new_tokens": 1, "temperature": 0},
        "return_prompt_token_ids": True,
    }
    return server.ask("/generate", request)[0]


if __name__ == "__main__":
    sys.exit(main())
