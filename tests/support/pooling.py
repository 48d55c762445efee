"""Run by test_vllm_pooling in a process of its own: prints, as JSON, what LLM.score and LLM.embed did.

python pooling.py CROSS_ENCODER_FOLDER
"""

from __future__ import annotations

import json
import os
import sys

from engine_texts import DOCUMENTS, QUERIES

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"


def main() -> None:
    from vllm import LLM

    llm = LLM(
        sys.argv[1], tokenizer_mode="lopt", runner="pooling", max_model_len=512, enforce_eager=True, dtype="float32"
    )
    encoder = llm.get_tokenizer().lopt
    pairs = llm.score(list(QUERIES), list(DOCUMENTS), use_tqdm=False)
    cut = llm.score(list(QUERIES), list(DOCUMENTS), use_tqdm=False, tokenization_kwargs={"truncate_prompt_tokens": 17})
    one_with_many = llm.score(QUERIES[0], list(DOCUMENTS), use_tqdm=False)
    classified = llm.classify(list(DOCUMENTS), use_tqdm=False)
    result = {
        "pairs": [output.prompt_token_ids for output in pairs],
        "scores": [output.outputs.score for output in pairs],
        "cut": [output.prompt_token_ids for output in cut],
        "one with many": [output.prompt_token_ids for output in one_with_many],
        "classified": [output.prompt_token_ids for output in classified],
        "calls": encoder.explain()["calls"],
        "hf calls": encoder.explain()["hf_calls"],
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
