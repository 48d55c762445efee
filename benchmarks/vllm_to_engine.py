"""Milliseconds until vLLM's engine has its prompts: with lopt, without, and with tokenization free.

Run where vLLM is installed. The engine runs in this process and is not stepped: timed is what `LLM.generate` does until
its last prompt is in the scheduler (rendering, tokenizing, checks, the detokenizer's start, block hashes). "free" is
vLLM's own way over ids that Hugging Face has made before, "free, lopt's renderer" ours over lists that lopt has made
before. "Tokenization": the share of the time that is beyond each of these. "Waits for ids": what vLLM's thread spends
on asking for ids and waiting for them. Every id is compared with the Hugging Face tokenizer's. The garbage collector
has run before each, or whose time it takes would be chance.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ |= {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "vllm_demo"))

from corpora import prompts, whole_text
from tiny_model import build

from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.prompts import spread
from lopt_plugin.demo.tiny_model import MAX_MODEL_LEN

FREE = "free"
FREE_OURS = "free, lopt's renderer"


@dataclass
class Clock:
    """Adds up the seconds in which ids were waited for; an observer of tokenizer calls."""

    seconds: float = 0.0
    fallbacks: list[str] = field(default_factory=list)

    def encoded(self, route: str, seconds: float) -> None:
        pass

    def fell_back(self, reason: str) -> None:
        self.fallbacks.append(reason)

    def remembered(self, counts: Mapping[str, int]) -> None:
        """Nothing: documents are not seen twice."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", type=int, default=450_000, help="characters of a long prompt")
    parser.add_argument("--many", type=int, default=2_000, help="prompts of a list")
    parser.add_argument("--short", type=int, default=2_048, help="characters of each of these")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = build(Path(folder) / "model")
        run(model, arguments)


def run(model: Path, arguments: argparse.Namespace) -> None:
    from transformers import AutoTokenizer
    from vllm import LLM, SamplingParams

    llm = LLM(str(model), tokenizer_mode="lopt", max_model_len=MAX_MODEL_LEN, enforce_eager=True)
    oracle = AutoTokenizer.from_pretrained(model)
    params = SamplingParams(max_tokens=1, temperature=0)
    count = arguments.repetitions + 2
    long = prompts("books_en", count, arguments.long)
    # These may overlap: their words come again and again in any case.
    short = spread(whole_text("books_en")[0], arguments.many * count, arguments.short)
    cases = {
        "one long prompt": [[text] for text in long.texts],
        f"{arguments.many} short prompts": [short[k::count] for k in range(count)],
    }
    print(machine_line())
    print(long.remark)
    for name, lists in cases.items():
        print(f"\n{name}: {len(lists[0][0]):,} characters each")
        measure(llm, model, oracle, params, lists)


def measure(llm: Any, model: Path, oracle: Any, params: Any, lists: list[list[str]]) -> None:
    """Each variant gets each list once, in alternating order; the first two lists warm it up."""
    clock = Clock()
    memory: dict[str, list[int]] = {}
    made: dict[str, list[int]] = {}
    ways = variants(llm, model, memory, made, clock)
    times: dict[str, list[float]] = {name: [] for name in ways}
    shares: dict[str, list[float]] = {name: [] for name in ways}
    for turn, texts in enumerate(lists):
        expected = [oracle(text)["input_ids"] for text in texts]
        memory |= dict(zip(texts, expected, strict=True))
        for name in sorted(ways, reverse=turn % 2 == 1):
            use(llm, ways[name])
            # Strings of its own: what a string has cached must not help the next variant.
            own = ["".join((text[:1], text[1:])) for text in texts]
            if name == FREE_OURS:
                made |= {text: ways[name].tokenizer.encode(text) for text in texts}
            gc.collect()
            clock.seconds = 0.0
            seconds, ids = timed(llm, own, params)
            if ids != expected:
                raise SystemExit(f"{name}: other ids than Hugging Face's")
            made.clear()
            if turn >= 2:
                times[name].append(seconds)
                shares[name].append(clock.seconds / seconds)
        memory.clear()
    middle = {name: statistics.median(seconds) for name, seconds in times.items()}
    for name, seconds in middle.items():
        row = f"  {name:22} {1000 * seconds:8.1f} ms (least {1000 * min(times[name]):8.1f})"
        for other in (FREE, FREE_OURS):
            row += f"   {seconds / middle[other]:5.2f} times {other}, tokenization {1 - middle[other] / seconds:6.1%}"
        print(f"{row}   waits for ids {statistics.median(shares[name]):6.1%}")
    if clock.fallbacks:
        raise SystemExit(f"fell back: {clock.fallbacks}")


def variants(
    llm: Any, model: Path, memory: dict[str, list[int]], made: dict[str, list[int]], clock: Clock
) -> dict[str, Any]:
    """Renderers by name. memory: ids as Hugging Face makes them, by text; made: as lopt does."""
    from vllm.renderers.hf import HfRenderer
    from vllm.tokenizers import get_tokenizer

    from lopt_plugin.engines.vllm_renderer import AHEAD, LoptRenderer

    class Remembering(LoptRenderer):  # type: ignore[misc]
        def _tokenize_prompt(self, prompt: Any, params: Any) -> Any:
            prompt.pop(AHEAD, None)
            return {"prompt_token_ids": made[prompt["prompt"]], **prompt}

    config = llm.llm_engine.vllm_config
    accelerated = get_tokenizer(model, tokenizer_mode="lopt")
    accelerated.lopt.observer = clock
    hugging_face = HfRenderer(config, get_tokenizer(model, tokenizer_mode="hf"))
    free = HfRenderer(config, get_tokenizer(model, tokenizer_mode="hf"))
    free.tokenizer.__class__ = remembering(type(free.tokenizer), memory)
    ways = {
        "hf": hugging_face,
        FREE: free,
        FREE_OURS: Remembering(config, get_tokenizer(model, tokenizer_mode="lopt")),
        "lopt, vLLM's renderer": HfRenderer(config, accelerated),
        "lopt": LoptRenderer(config, accelerated),
    }
    for renderer in ways.values():
        renderer._tokenize_prompt = waited_for(renderer._tokenize_prompt, clock)
    return ways


def remembering(kind: type, memory: dict[str, list[int]]) -> type:
    """The tokenizer class, whose calls look ids up."""

    def call(self: Any, text: str | list[str], **kwargs: Any) -> dict[str, Any]:
        return {"input_ids": memory[text] if isinstance(text, str) else [memory[one] for one in text]}

    def encode(self: Any, text: str, **kwargs: Any) -> list[int]:
        return memory[text]

    return type(kind.__name__, (kind,), {"__call__": call, "encode": encode})


def waited_for(tokenize: Callable[..., Any], clock: Clock) -> Callable[..., Any]:
    """The renderer's method, on the clock."""

    def timed_call(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return tokenize(*arguments)
        finally:
            clock.seconds += time.perf_counter() - start

    return timed_call


def use(llm: Any, renderer: Any) -> None:
    llm.renderer = llm.llm_engine.renderer = llm.llm_engine.input_processor.renderer = renderer


def timed(llm: Any, texts: list[str], params: Any) -> tuple[float, list[list[int]]]:
    """Seconds until all are in the scheduler, and their ids; they are taken out again."""
    scheduler = llm.llm_engine.engine_core.engine_core.scheduler
    add: Callable[..., Any] = llm._add_completion_requests
    start = time.perf_counter()
    add(texts, params, use_tqdm=False)
    seconds = time.perf_counter() - start
    requests = list(scheduler.requests.values())
    ids = [list(request.prompt_token_ids) for request in requests]
    llm.llm_engine.abort_request([request.request_id for request in requests], internal=True)
    return seconds, ids


if __name__ == "__main__":
    main()
