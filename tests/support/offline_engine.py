"""Run by test_sglang_offline in a process of its own: prints, as JSON, what Engine.generate did.

python offline_engine.py MODEL_FOLDER [asked | unasked]

With a second argument, a process of its own joins the Engine as a tokenizer worker and generates too; `asked`, it asks
lopt_plugin for the backend before.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from typing import Any

from engine_texts import PROMPTS

JOINED_WITHIN_S = 900.0


def main() -> None:
    from sglang import Engine

    from lopt_plugin.engines.sglang import tokenizer_backend

    how = sys.argv[2] if len(sys.argv) > 2 else None
    engine = Engine(
        model_path=sys.argv[1],
        tokenizer_backend=tokenizer_backend(),
        tokenizer_worker_num=1 if how is None else 2,
        device="cpu",
        attention_backend="torch_native",
        mem_fraction_static=0.5,
        max_total_tokens=8192,
        context_length=8192,
        disable_cuda_graph=True,
        disable_overlap_schedule=True,
        sleep_on_idle=True,
    )
    try:
        results = [generated(engine)]
        if how is not None:
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            worker = context.Process(target=join, args=(queue, how == "asked"))
            worker.start()
            results.append(queue.get(timeout=JOINED_WITHIN_S))
            worker.kill()
    finally:
        engine.shutdown()
    print("RESULT " + json.dumps(results, default=str), flush=True)


def join(queue: Any, ask: bool) -> None:
    """Generates as a worker of the parent's Engine."""
    from sglang import Engine

    if ask:
        from lopt_plugin.engines.sglang import tokenizer_backend

        tokenizer_backend()
    queue.put(generated(Engine.attach_tokenizer_worker()))


def generated(engine: Any) -> dict[str, Any]:
    """The ids that the Engine worked with, and what its tokenizer says of itself; None if it is not ours."""
    answers: Any = engine.generate(
        list(PROMPTS), {"max_new_tokens": 1, "temperature": 0}, return_logprob=True, logprob_start_len=0
    )
    encoder = getattr(engine.tokenizer_manager.tokenizer, "lopt", None)
    return {
        "process": os.getpid(),
        "ids": [[i for _, i, *_ in answer["meta_info"]["input_token_logprobs"]] for answer in answers],
        "explained": None if encoder is None else encoder.explain(),
    }


if __name__ == "__main__":
    main()
