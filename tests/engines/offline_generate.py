"""Run by test_vllm_offline in a process of its own: prints, as JSON, what LLM.generate and LLM.chat did.

python offline_generate.py MODEL_FOLDER
"""

from __future__ import annotations

import json
import sys

from texts import CHAT, PARAGRAPH, PROMPTS


def main() -> None:
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    llm = LLM(
        sys.argv[1],
        tokenizer_mode="lopt",
        max_model_len=4096,
        enforce_eager=True,
        structured_outputs_config={"backend": "guidance"},
    )
    one = SamplingParams(max_tokens=1, temperature=0)
    multiple_of_seven = StructuredOutputsParams(json={"type": "integer", "multipleOf": 7, "minimum": 7, "maximum": 70})
    tokenizer = llm.get_tokenizer()
    result = {
        "route": tokenizer.lopt.explain()["route"],
        "generate": [output.prompt_token_ids for output in llm.generate(list(PROMPTS), one, use_tqdm=False)],
        "chat": llm.chat(list(CHAT), one, use_tqdm=False)[0].prompt_token_ids,
        "guidance": llm.generate(
            PARAGRAPH,
            SamplingParams(max_tokens=12, temperature=0, structured_outputs=multiple_of_seven),
            use_tqdm=False,
        )[0].outputs[0].text,
        "calls": tokenizer.lopt.explain()["calls"],
    }  # fmt: skip
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
