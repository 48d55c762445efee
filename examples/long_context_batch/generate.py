"""Many long prompts at once through vLLM, tokenized as one batch.

    python examples/long_context_batch/generate.py --model Qwen/Qwen3-4B --folder my_documents --question "Who is it?"

Every *.txt file of the folder becomes a prompt: the document, then the question. The ids are those of the model's
Hugging Face tokenizer. All cores tokenize, or with --gpu the GPU, on which this has not run yet.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--question", default="Summarize the text above in one sentence.")
    parser.add_argument("--max-tokens", type=int, default=100)
    parser.add_argument("--max-model-len", type=int, default=None)
    parser.add_argument("--gpu", action="store_true", help="tokenize on the GPU")
    arguments = parser.parse_args()
    if importlib.util.find_spec("vllm") is None:
        parser.error(f"vLLM is not installed for {sys.executable}: pip install 'lopt-plugin[vllm]'")
    documents = sorted(arguments.folder.glob("*.txt"))
    if not documents:
        parser.error(f"{arguments.folder} has no *.txt files")
    prompts = [f"{path.read_text(encoding='utf-8')}\n\n{arguments.question}\n" for path in documents]

    from vllm import LLM, SamplingParams

    from lopt_plugin.engines.vllm import generate

    llm = LLM(arguments.model, tokenizer_mode="lopt", max_model_len=arguments.max_model_len)
    begin = time.perf_counter()
    parameters = SamplingParams(max_tokens=arguments.max_tokens, temperature=0)
    outputs = generate(llm, prompts, parameters, gpu=arguments.gpu)
    seconds = time.perf_counter() - begin
    for path, output in zip(documents, outputs, strict=True):
        print(f"{path.name}: {len(output.prompt_token_ids):,} tokens\n    {output.outputs[0].text.strip()}")
    on_gpu = llm.get_tokenizer().lopt.explain()["gpu"]
    print(f"{len(prompts)} prompts in {seconds:.1f} s; tokenized on the GPU: {on_gpu or 'no'}")


if __name__ == "__main__":
    main()
