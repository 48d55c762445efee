"""An agent's loop against the real vLLM server: 200 turns, each of which sends the whole conversation again.

    python agent_loop.py [--turns 200] [--turn-chars 2000] [--compare-every 20]

The same conversation goes to two servers, both with `--tokenizer-mode lopt`: one that keeps what texts began with, as
it is by default, and one with LOPT_PREFIX_CACHE_MB=0. In each turn /tokenize gives the conversation's ids, some of
which are compared with those of Hugging Face, and the model answers. "tokenizer" is the server's own figure, of lopt's
metrics, for both; the others have HTTP, JSON and the chat template in them. The model is the demo's, with random
weights: run this in the environment that `make demo` makes.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEMO = Path(__file__).resolve().parents[1] / "vllm_demo"
sys.path.insert(0, str(DEMO))

from book import long_english_text  # noqa: E402
from tiny_model import REPOSITORY, build  # noqa: E402

from lopt_plugin.demo.server import ServerError  # noqa: E402
from lopt_plugin.demo.tiny_model import MAX_MODEL_LEN  # noqa: E402
from lopt_plugin.demo.vllm_server import VllmServer  # noqa: E402

# Below build/, which git ignores; written anew by every run.
FOLDER = REPOSITORY / "build" / "agent_loop"


@dataclass
class Loop:
    """What one server did. Seconds by turn."""

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
    parser.add_argument("--compare-every", type=int, default=20, help="turns (default 20)")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = build(FOLDER / "model")
    text = long_english_text(given.turns * given.turn_chars).text
    results = [text[k * given.turn_chars : (k + 1) * given.turn_chars] for k in range(given.turns)]
    try:
        for name, environment in (("kept", {}), ("not kept", {"LOPT_PREFIX_CACHE_MB": "0"})):
            log = FOLDER / f"{name.replace(' ', '_')}.log"
            with VllmServer(
                model, log, tokenizer_mode="lopt", max_model_len=MAX_MODEL_LEN, environment=environment, kv_cache_gib=2
            ) as server:
                loop = run(server, model, results, given.compare_every)
            print(
                f"Beginnings {name:8}  {len(loop.answer)} turns, {loop.tokens:,} tokens at the end, "
                f"ids compared in {loop.compared}\n"
                f"  tokenizer   {loop.tokenizer:7.2f} s in all\n"
                f"  /tokenize   {sum(loop.tokenize):7.2f} s in all, at the end "
                f"{1e3 * statistics.median(loop.tokenize[-10:]):.1f} ms each\n"
                f"  answers     {sum(loop.answer):7.2f} s in all"
            )
    except ServerError as error:
        print(f"\nFAILED: {error}", file=sys.stderr)
        return 1
    return 0


def run(server: VllmServer, model: Path, results: list[str], compare_every: int) -> Loop:
    """The conversation, turn by turn. Raises ServerError for an answer that is not what it must be."""
    from transformers import AutoTokenizer

    hf = AutoTokenizer.from_pretrained(model)
    loop = Loop()
    before = _tokenizer_seconds(server)
    messages: list[dict[str, str]] = [{"role": "system", "content": "You are an agent. Results of your tools follow."}]
    for turn, result in enumerate(results):
        messages.append({"role": "user", "content": result})
        started = time.perf_counter()
        ids = _post(server, "/tokenize", {"model": "tiny", "messages": messages})["tokens"]
        loop.tokenize.append(time.perf_counter() - started)
        if turn % compare_every == 0:
            if ids != _expected(hf, messages):
                raise ServerError(f"turn {turn}: other ids than Hugging Face's")
            loop.compared += 1
        started = time.perf_counter()
        body = {"model": "tiny", "messages": messages, "max_tokens": 4, "temperature": 0}
        answer = _post(server, "/v1/chat/completions", body)
        loop.answer.append(time.perf_counter() - started)
        loop.tokens = len(ids)
        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"] or "-"})
    loop.tokenizer = _tokenizer_seconds(server) - before
    return loop


def _tokenizer_seconds(server: VllmServer) -> float:
    sums = re.findall(r"^lopt_tokenization_seconds_sum\S* (\S+)$", server.get("/metrics"), re.MULTILINE)
    return sum(map(float, sums))


def _expected(hf: Any, messages: list[dict[str, str]]) -> list[int]:
    prompt = hf.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids: list[int] = hf(prompt, add_special_tokens=False)["input_ids"]
    return ids


def _post(server: VllmServer, path: str, body: dict[str, Any]) -> Any:
    status, answer = server.post(path, body)
    if status != 200:
        raise ServerError(f"{path}: HTTP {status}: {str(answer)[:500]}")
    return answer


if __name__ == "__main__":
    sys.exit(main())
