"""vLLM's `LLM.generate` over many prompts, tokenized together: on the GPU where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def generate(llm: Any, prompts: Sequence[str], sampling_params: Any = None, **arguments: Any) -> Any:
    """`llm.generate(prompts, sampling_params, **arguments)`, with the ids that vLLM would make of the prompts itself.

    vLLM tokenizes prompts one by one; here one batch of them is made, by the GPU route where it can be had (with what
    memory vLLM has left there), else by all cores. The tokenizer is the model's own, accelerated if it is not yet.
    Raises TypeError for prompts that are no strings, and for a tokenizer that does not run on the tokenizers library.
    """
    from ..tokenizer import LoptMixin, accelerate

    if isinstance(prompts, str) or not all(isinstance(prompt, str) for prompt in prompts):
        raise TypeError("prompts must be a list of strings; give others to LLM.generate itself")
    tokenizer = llm.get_tokenizer()
    if not isinstance(tokenizer, LoptMixin):
        tokenizer = accelerate(tokenizer)
    batch = tokenizer.lopt.encode_batch_ids(prompts, device=_device())
    ids, offsets = batch.ids.tolist(), batch.row_offsets.tolist()
    tokenized = [
        {"prompt": prompt, "prompt_token_ids": ids[offsets[row] : offsets[row + 1]]}
        for row, prompt in enumerate(prompts)
    ]
    return llm.generate(tokenized, sampling_params, **arguments)


def _device() -> str | None:
    import torch  # vLLM has it

    return "cuda" if torch.cuda.is_available() else None
