"""Run by test_vllm_multimodal in a process of its own: prints, as JSON, the ids of prompts with and without an image.

python captions.py CAPTIONER_FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from engine_texts import CAPTION_PROMPTS

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"


def main() -> None:
    from PIL import Image
    from vllm import LLM, SamplingParams

    llm = LLM(
        sys.argv[1],
        tokenizer_mode="lopt",
        load_format="dummy",
        max_model_len=512,
        enforce_eager=True,
        limit_mm_per_prompt={"image": 1},
    )
    image = Image.new("RGB", (40, 30), (200, 10, 30))
    one = SamplingParams(max_tokens=1, temperature=0)

    def prompt_ids(prompts: list[Any]) -> list[list[int]]:
        return [output.prompt_token_ids for output in llm.generate(prompts, one, use_tqdm=False)]

    tokenizer = llm.get_tokenizer()
    result = {
        "with an image": prompt_ids([{"prompt": p, "multi_modal_data": {"image": image}} for p in CAPTION_PROMPTS]),
        "text": prompt_ids(list(CAPTION_PROMPTS)),
        "changed": tokenizer.added_tokens_decoder[tokenizer.get_vocab()["<image>"]].special,
        "calls": tokenizer.lopt.explain()["calls"],
        "hf calls": tokenizer.lopt.explain()["hf_calls"],
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
