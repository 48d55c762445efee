"""vLLM's renderer for an accelerated tokenizer: less work per prompt, and lists of prompts as one batch.

vLLM's own renderer asks the tokenizer for one prompt at a time, with all columns of a BatchEncoding, copies the ids,
and searches for the smallest and the largest. The order of checks, and with it every error, remains vLLM's: a prompt
that could not be tokenized with the others is tokenized again when its turn comes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ...routes.request import NeedsReference
from ..acceleration import is_native, settings_of
from ..prefetch import TextPrefetcher
from . import ledger

try:
    from ...native._core import ids_within
except ImportError:
    ids_within = None  # type: ignore[assignment]

# A key in the dict of a prompt, removed before the engine sees it: its TextPrefetcher, and its index there.
PREFETCHED = "_lopt_prefetched"

# A longer text takes more time than handing it to a thread and back.
EVENT_LOOP_CHARS = 2048


def prefetch_prompts(add_requests: Callable[..., Any]) -> Callable[..., Any]:
    """`LLM._add_completion_requests`, with its prompts tokenized before their turn."""

    def add_requests_with_prefetch(self: Any, prompts: Any, *args: Any, **kwargs: Any) -> Any:
        is_ours = isinstance(self.renderer, LoptRenderer) and not self.model_config.is_encoder_decoder
        if is_ours and isinstance(prompts, (list, tuple)):
            prompts, _ = with_prefetcher(prompts)
        return add_requests(self, prompts, *args, **kwargs)

    return add_requests_with_prefetch


class LoptRenderer(ledger.HF_RENDERER.resolve()):  # type: ignore[misc]
    """vLLM's HfRenderer for an accelerated tokenizer."""

    def __init__(self, config: Any, tokenizer: Any) -> None:
        super().__init__(config, tokenizer)
        # Set by vLLM's own __init__, or a method, depending on the release.
        self._tokenize_prompt_in_pool: Any = getattr(self, "_tokenize_prompt_async")  # noqa: B009
        self._tokenize_prompt_async = self._tokenize_prompt_prefetched_async

    def tokenizes_as_vllm(self) -> bool:
        """Whether a prompt gives the same result here as with vLLM's method, which a later release may have changed."""
        params = self.default_cmpl_tok_params
        prompt = {"prompt": "It's 1 text.", "cache_salt": "salt"}
        return bool(self._tokenize_prompt(dict(prompt), params) == super()._tokenize_prompt(dict(prompt), params))

    def _tokenize_prompt(self, prompt: Any, params: Any) -> Any:
        ids = self._prefetched_ids(prompt, params)
        if ids is None:
            # A tokenizer class may override one of its methods, and vLLM chooses which of them it calls.
            if _wants_offsets(params) or not self.get_tokenizer()._lopt_direct:
                return super()._tokenize_prompt(prompt, params)
            ids = self.get_tokenizer().encode(prompt["prompt"], **params.get_encode_kwargs())
        return {"prompt_token_ids": ids, **prompt}

    async def _tokenize_prompt_prefetched_async(self, prompt: Any, params: Any) -> Any:
        ids = self._prefetched_ids(prompt, params)
        if ids is None:
            ids = self._ids_on_event_loop(prompt["prompt"], params)
        if ids is None:
            return await self._tokenize_prompt_in_pool(prompt, params)
        return {"prompt_token_ids": ids, **prompt}

    def _prefetched_ids(self, prompt: Any, params: Any) -> list[int] | None:
        prefetcher, index = prompt.pop(PREFETCHED, (None, 0))
        if prefetcher is None or _wants_offsets(params):
            return None
        ids: list[int] | None = prefetcher.take(
            index, prompt["prompt"], self.get_tokenizer(), params.get_encode_kwargs()
        )
        return ids

    def _ids_on_event_loop(self, text: str, params: Any) -> list[int] | None:
        """The ids of a short text; None if it needs a thread, because it is long or needs Hugging Face."""
        tokenizer = self.get_tokenizer()
        kwargs = params.get_encode_kwargs()
        if (
            type(text) is str
            and len(text) <= EVENT_LOOP_CHARS
            and type(kwargs["add_special_tokens"]) is bool
            and not _wants_offsets(params)
            and is_native(tokenizer)
            and not settings_of(tokenizer).verify
        ):
            with contextlib.suppress(NeedsReference):
                ids: list[int] = tokenizer._lopt_encode_alone(text, **kwargs)
                return ids
        return None

    def tokenize_prompts(self, prompts: Sequence[Any], params: Any) -> list[Any]:
        """As in vLLM; texts are tokenized as one batch."""
        prompts, prefetcher = with_prefetcher(prompts)
        if prefetcher is not None and not _wants_offsets(params):
            prefetcher.tokenize_all(self.get_tokenizer(), params.get_encode_kwargs())
        return list(super().tokenize_prompts(prompts, params))

    async def tokenize_prompts_async(self, prompts: Sequence[Any], params: Any) -> list[Any]:
        """As in vLLM; texts are tokenized as one batch."""
        prompts, prefetcher = with_prefetcher(prompts)
        if prefetcher is not None and not _wants_offsets(params):
            arguments = (self.get_tokenizer(), params.get_encode_kwargs())
            await asyncio.get_running_loop().run_in_executor(self._executor, prefetcher.tokenize_all, *arguments)
        return list(await super().tokenize_prompts_async(prompts, params))

    def validate_token_ids(self, token_ids: Any, *args: Any, **kwargs: Any) -> None:
        """As in vLLM, whose method is called only if an id is out of range or is not an int."""
        if type(token_ids) is list and ids_within is not None and self.tokenizer is not None:
            largest = max(self.tokenizer.max_token_id, self.model_config.get_vocab_size() - 1)
            if ids_within(token_ids, largest):
                return
        super().validate_token_ids(token_ids, *args, **kwargs)


def _wants_offsets(params: Any) -> bool:
    return bool(getattr(params, "return_token_offsets", False))


def with_prefetcher(prompts: Sequence[Any]) -> tuple[Sequence[Any], TextPrefetcher | None]:
    """The prompts, with texts as dicts that have the key PREFETCHED; unchanged, and None, for fewer than two."""
    texts = [(index, text) for index, prompt in enumerate(prompts) if (text := _text_of(prompt)) is not None]
    if len(texts) < 2:
        return prompts, None
    prefetcher = TextPrefetcher([text for _, text in texts])
    # Copies: the dicts may be the caller's.
    copies = list(prompts)
    for number, (index, text) in enumerate(texts):
        own = {"prompt": text} if type(prompts[index]) is str else prompts[index]
        copies[index] = {**own, PREFETCHED: (prefetcher, number)}
    return copies, prefetcher


def _text_of(prompt: Any) -> str | None:
    others = {"prompt_token_ids", "prompt_embeds", "encoder_prompt", PREFETCHED}
    if isinstance(prompt, dict) and not others & prompt.keys():
        prompt = prompt.get("prompt")
    return prompt if type(prompt) is str else None
