"""Milliseconds until vLLM's engine has its prompts: with lopt, without, and with tokenization stubbed out.

    python benchmarks/engines/vllm_to_engine.py

Run where vLLM is installed. The engine runs in this process and is not stepped: timed is what `LLM.generate` does until
its last prompt is in the scheduler (rendering, tokenizing, checks, the detokenizer's start, block hashes). "free" is
vLLM's renderer over ids that Hugging Face made before; "tokenization" is the share of the time that is beyond that.
Every id is compared with the Hugging Face tokenizer's. The garbage collector runs before each measurement; otherwise it
would be chance which of them it slows down.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import whole_text
from benchmarks.engines import documents
from lopt_plugin.cli.benchmarking.prompts import spread
from lopt_plugin.cli.serving.tiny_model import MAX_MODEL_LEN

WARM_UP = 2


def main(folder: Path) -> None:
    from transformers import AutoTokenizer
    from vllm import LLM, SamplingParams

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", type=int, default=450_000, help="characters of a long prompt")
    parser.add_argument("--many", type=int, default=2_000, help="prompts of a list")
    parser.add_argument("--short", type=int, default=2_048, help="characters of each of these")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    model = documents.build_model(folder)
    llm = LLM(str(model), tokenizer_mode="lopt", max_model_len=MAX_MODEL_LEN, enforce_eager=True)
    oracle = AutoTokenizer.from_pretrained(model)
    params = SamplingParams(max_tokens=1, temperature=0)
    count = arguments.repetitions + WARM_UP
    # Short prompts may overlap: their words come again and again in any case.
    short = spread(whole_text(documents.CORPUS)[0], arguments.many * count, arguments.short)
    cases = {
        "one long prompt": [[text] for text in documents.long_prompts(count, arguments.long)],
        f"{arguments.many} short prompts": [short[k::count] for k in range(count)],
    }
    for name, lists in cases.items():
        print(f"\n{name}: {len(lists[0][0]):,} characters each")
        measure(llm, model, oracle, params, lists)


def measure(llm: Any, model: Path, oracle: Any, params: Any, lists: list[list[str]]) -> None:
    """Each variant gets each list once, in alternating order; the first lists warm it up."""
    memory: dict[str, list[int]] = {}
    renderers = variants(llm, model, memory)
    times: dict[str, list[float]] = {name: [] for name in renderers}
    for turn, texts in enumerate(lists):
        expected = [oracle(text)["input_ids"] for text in texts]
        memory |= dict(zip(texts, expected, strict=True))
        for name in sorted(renderers, reverse=turn % 2 == 1):
            use(llm, renderers[name])
            # New strings for each: what a string has cached must not help the next variant.
            own = ["".join((text[:1], text[1:])) for text in texts]
            gc.collect()
            seconds, ids = timed(llm, own, params)
            if ids != expected:
                raise SystemExit(f"{name}: other ids than Hugging Face's")
            if turn >= WARM_UP:
                times[name].append(seconds)
        memory.clear()
    documents.print_times(times)
    fallbacks = renderers["lopt"].tokenizer.lopt.explain()["hf_calls"]
    if fallbacks:
        raise SystemExit(f"fell back: {fallbacks}")


def variants(llm: Any, model: Path, memory: dict[str, list[int]]) -> dict[str, Any]:
    """Renderers by name. memory: ids by text, for "free"."""
    from vllm.renderers.hf import HfRenderer
    from vllm.tokenizers import get_tokenizer

    config = llm.llm_engine.vllm_config
    accelerated = get_tokenizer(model, tokenizer_mode="lopt")
    hugging_face, free = (HfRenderer(config, get_tokenizer(model, tokenizer_mode="hf")) for _ in range(2))
    look_up(free.tokenizer, memory)
    return {
        "hf": hugging_face,
        "free": free,
        "lopt, vLLM's renderer": HfRenderer(config, accelerated),
        "lopt": type(llm.llm_engine.renderer)(config, accelerated),
    }


def look_up(tokenizer: Any, memory: dict[str, list[int]]) -> None:
    """Makes the tokenizer look up the ids of a text in the call that vLLM's renderer makes, instead of tokenizing."""

    def call(self: Any, text: str, **kwargs: Any) -> dict[str, Any]:
        return {"input_ids": memory[text]}

    kind = type(tokenizer)
    tokenizer.__class__ = type(kind.__name__, (kind,), {"__call__": call})


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
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
