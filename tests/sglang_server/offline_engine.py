"""Run by test_sglang_offline in a process of its own: prints, as JSON, what Engine.generate did.

python offline_engine.py MODEL_FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "engines"))

from texts import PROMPTS


def main() -> None:
    from sglang import Engine

    from lopt_plugin.engines.sglang import tokenizer_backend

    engine = Engine(
        model_path=sys.argv[1],
        tokenizer_backend=tokenizer_backend(),
        device="cpu",
        attention_backend="torch_native",
        mem_fraction_static=0.5,
        max_total_tokens=8192,
        context_length=8192,
        disable_cuda_graph=True,
        disable_overlap_schedule=True,
    )
    try:
        answers: Any = engine.generate(
            list(PROMPTS), {"max_new_tokens": 1, "temperature": 0}, return_logprob=True, logprob_start_len=0
        )
        encoder = engine.tokenizer_manager.tokenizer.lopt
        result = {
            "generate": [[i for _, i, *_ in a["meta_info"]["input_token_logprobs"]] for a in answers],
            "explained": encoder.explain(),
        }
    finally:
        engine.shutdown()
    print("RESULT " + json.dumps(result, default=str), flush=True)


if __name__ == "__main__":
    main()
