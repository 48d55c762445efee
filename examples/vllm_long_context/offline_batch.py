"""Asks a model a question about every text file of a directory, offline, with a progress bar.

    python offline_batch.py DIRECTORY answers.jsonl --model Qwen/Qwen3-8B --question "Summarize this."

Without --model, or if it is not available, the tiny demo model writes nonsense. Files that are too long for the model
are truncated.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from model import model_or_tiny


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("answers", type=Path, help="JSON lines: file, prompt_tokens, answer")
    parser.add_argument("--model")
    parser.add_argument("--question", default="Summarize this in one sentence.")
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--max-tokens", type=int, default=64)
    arguments = parser.parse_args()
    files = sorted(path for path in arguments.directory.rglob("*.txt") if path.is_file())
    if not files:
        raise SystemExit(f"{arguments.directory} has no .txt files")

    model = model_or_tiny(arguments.model)
    from vllm import LLM, SamplingParams

    llm = LLM(
        model, tokenizer_mode="lopt", max_model_len=arguments.max_model_len, enforce_eager=model != arguments.model
    )
    tokenizer = llm.get_tokenizer()
    question = tokenizer.lopt.encode_list(f"\n\n{arguments.question}\n", add_special_tokens=False)
    room = llm.model_config.max_model_len - arguments.max_tokens - len(question)
    # Tokenize the texts as one batch, on all cores; vLLM receives ids.
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    rows = tokenizer(texts, truncation=True, max_length=room, return_attention_mask=False)["input_ids"]
    prompts = [{"prompt_token_ids": ids + question} for ids in rows]
    outputs = llm.generate(prompts, SamplingParams(max_tokens=arguments.max_tokens, temperature=0), use_tqdm=True)
    with arguments.answers.open("w", encoding="utf-8") as lines:
        for path, output in zip(files, outputs, strict=True):
            answer = {
                "file": str(path.relative_to(arguments.directory)),
                "prompt_tokens": len(output.prompt_token_ids),
                "answer": output.outputs[0].text,
            }
            lines.write(json.dumps(answer, ensure_ascii=False) + "\n")
    print(f"{len(files)} answers in {arguments.answers}; tokenizer calls: {tokenizer.lopt.explain()['calls']}")


if __name__ == "__main__":
    main()
