"""An agent's loop against the real vLLM server: 200 turns, each of which sends the whole conversation again.

    python agent_loop.py [--turns 200] [--turn-chars 2000] [--compare-every 20]

The same conversation goes to two servers with `--tokenizer-mode lopt`: one with the prefix cache, as by default, and
one without it (LOPT_PREFIX_CACHE_MB=0). In each turn, /tokenize returns the conversation's ids, and the model answers.
Every --compare-every turns the ids are compared with Hugging Face's. "tokenizer" is the server's own figure, from
lopt's metrics; the others include HTTP, JSON and the chat template. The model is the demo's, with random weights. Run
this script in the environment that `make demo` creates.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEMO = Path(__file__).resolve().parents[1] / "vllm_demo"
sys.path.insert(0, str(DEMO))

from book import long_english_text  # noqa: E402
from demo import exit_status  # noqa: E402
from tiny_model import REPOSITORY, build  # noqa: E402

from lopt_plugin.cli.serving.server import ServerError  # noqa: E402
from lopt_plugin.cli.serving.tiny_model import MAX_MODEL_LEN  # noqa: E402
from lopt_plugin.cli.serving.vllm_server import VllmServer  # noqa: E402

# In build/, which git ignores; every run writes it again.
FOLDER = REPOSITORY / "build" / "agent_loop"


@dataclass
class Loop:
    """What one server did. Seconds per turn."""

    tokenize: list[float] = field(default_factory=list)
    answer: list[float] = field(default_factory=list)
    tokens: int = 0
    tokenizer: float = 0.0
    compared: int = 0


def main() -> int:
    """Runs the loop on both servers; returns the exit status."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--turn-chars", type=int, default=2000, help="characters that a turn adds (default 2000)")
    parser.add_argument("--compare-every", type=int, default=20, help="turns between comparisons (default 20)")
    given = parser.parse_args()
    if importlib.util.find_spec("vllm") is None:
        parser.error(f"vLLM is not installed for {sys.executable}: pip install 'lopt-plugin[vllm]'")
    return exit_status(FOLDER, lambda: loops(given.turns, given.turn_chars, given.compare_every))


def loops(turns: int, turn_chars: int, compare_every: int) -> int:
    """The conversation with both servers; returns the exit status."""
    model = build(FOLDER / "model")
    text = long_english_text(turns * turn_chars)[0]
    results = [text[k * turn_chars : (k + 1) * turn_chars] for k in range(turns)]
    for name, environment in (("with", {}), ("without", {"LOPT_PREFIX_CACHE_MB": "0"})):
        log = FOLDER / f"{name}_prefix_cache.log"
        with VllmServer(model, log, "lopt", context_length=MAX_MODEL_LEN, environment=environment) as server:
            loop = run(server, model, results, compare_every)
        print(
            f"{name.capitalize()} the prefix cache: {len(loop.answer)} turns, {loop.tokens:,} tokens at the end, "
            f"ids compared in {loop.compared}\n"
            f"  tokenizer   {loop.tokenizer:7.2f} s in all\n"
            f"  /tokenize   {sum(loop.tokenize):7.2f} s in all, at the end "
            f"{1e3 * statistics.median(loop.tokenize[-10:]):.1f} ms each\n"
            f"  answers     {sum(loop.answer):7.2f} s in all"
        )
    return 0


def run(server: VllmServer, model: Path, results: list[str], compare_every: int) -> Loop:
    """The conversation, turn by turn. Raises ServerError for a failed request, and if ids differ."""
    from transformers import AutoTokenizer

    hf = AutoTokenizer.from_pretrained(model)
    loop = Loop()
    before = server.metric("lopt_tokenization_seconds_sum")
    messages: list[dict[str, str]] = [{"role": "system", "content": "You are an agent. Results of your tools follow."}]
    for turn, result in enumerate(results):
        messages.append({"role": "user", "content": result})
        started = time.perf_counter()
        ids = server.ask("/tokenize", {"model": "tiny", "messages": messages})[0]["tokens"]
        loop.tokenize.append(time.perf_counter() - started)
        if turn % compare_every == 0:
            if ids != _expected(hf, messages):
                raise ServerError(f"turn {turn}: the ids differ from Hugging Face's")
            loop.compared += 1
        started = time.perf_counter()
        body = {"model": "tiny", "messages": messages, "max_tokens": 4, "temperature": 0}
        answer, _ = server.ask("/v1/chat/completions", body)
        loop.answer.append(time.perf_counter() - started)
        loop.tokens = len(ids)
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"] or "-"})
    loop.tokenizer = server.metric("lopt_tokenization_seconds_sum") - before
    return loop


def _expected(hf: Any, messages: list[dict[str, str]]) -> list[int]:
    prompt = hf.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids: list[int] = hf(prompt, add_special_tokens=False)["input_ids"]
    return ids


if __name__ == "__main__":
    sys.exit(main())
