"""vLLM's `LLM.generate` over many prompts, tokenized as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def generate(
    llm: Any, prompts: Sequence[str], sampling_params: Any = None, *, gpu: bool = False, **arguments: Any
) -> Any:
    """Call `llm.generate` with prompts that are tokenized as one batch, to the ids that vLLM would make of them.

    vLLM tokenizes one prompt after the other. Here all cores tokenize the batch.

    Args:
        llm: A `vllm.LLM`. Its tokenizer is accelerated for this call if it is not accelerated yet.
        prompts: The prompts, all strings.
        sampling_params: As in `LLM.generate`.
        gpu: Whether the GPU route tokenizes the batch, if the tokenizer has one and vLLM has left enough memory on the
            device; else all cores do. It has not run with vLLM on a GPU yet.
        **arguments: Any others of `LLM.generate`.

    Returns:
        What `LLM.generate` returns: a list of `RequestOutput`, one per prompt, in their order.

    Raises:
        TypeError: A prompt is not a string, or the tokenizer does not run on the tokenizers library.

    Example:
        from vllm import LLM, SamplingParams
        from lopt_plugin.engines.vllm import generate

        llm = LLM("Qwen/Qwen3-8B", tokenizer_mode="lopt")
        outputs = generate(llm, documents, SamplingParams(max_tokens=64))
    """
    from ...tokenizer.accelerated import LoptMixin, accelerate

    if isinstance(prompts, str) or not all(isinstance(prompt, str) for prompt in prompts):
        raise TypeError("prompts must be a list of strings; pass other prompts to LLM.generate itself")
    tokenizer = llm.get_tokenizer()
    if not isinstance(tokenizer, LoptMixin):
        tokenizer = accelerate(tokenizer)
    batch = tokenizer.lopt.encode_batch_ids(prompts, device="cuda" if gpu else None)
    ids, ends = batch.ids.tolist(), batch.row_offsets.tolist()
    rows = map(ids.__getitem__, map(slice, ends[:-1], ends[1:]))
    tokenized = [{"prompt": text, "prompt_token_ids": row} for text, row in zip(prompts, rows, strict=True)]
    return llm.generate(tokenized, sampling_params, **arguments)
