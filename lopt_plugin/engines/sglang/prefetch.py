"""Tokenize the prompts of a multi-prompt request before SGLang asks the tokenizer for each of them.

(SGLang asks for all of them at once only with `--enable-tokenizer-batch-encode`.) Native threads tokenize the next
prompts while SGLang builds and sends the requests of earlier ones. No prompt waits for a later one, and a prompt that
SGLang asks for out of order is tokenized on request.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

from ..acceleration import settings_of
from ..prefetch import TextPrefetcher

logger = logging.getLogger("sglang.lopt_plugin")


class PromptPrefetcher:
    """Texts that are taken in order, once each."""

    def __init__(self, texts: Sequence[str]) -> None:
        own = tuple(texts)
        self._prefetcher = TextPrefetcher(own)
        self._rest = enumerate(own)

    def take(self, text: str, tokenizer: Any) -> list[int] | None:
        """Ids of `tokenizer(text)`; None if the tokenizer has to be called. Never raises."""
        index, expected = next(self._rest, (0, None))
        try:
            if expected is text:
                return self._prefetcher.take(index, text, tokenizer, {})
        except Exception:
            logger.exception("lopt_plugin: could not prefetch the prompts of a list; tokenizing them one by one")
        self.drop()
        return None

    def drop(self) -> None:
        """Stops, and releases the texts."""
        self._prefetcher = TextPrefetcher(())
        self._rest = enumerate(())


_of_this_request: ContextVar[PromptPrefetcher | None] = ContextVar("lopt_sglang_prefetcher", default=None)


def prefetched_ids(text: str, tokenizer: Any) -> list[int] | None:
    """Ids of the prompt that SGLang asks for now; None if it was not prefetched."""
    prefetcher = _of_this_request.get()
    return None if prefetcher is None else prefetcher.take(text, tokenizer)


def handle_batch_with_prefetch(handle: Callable[..., Any], manager: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Hook around `_handle_batch_request`, which tokenizes all prompts before its first response."""
    responses = handle(manager, obj, *args, **kwargs)
    texts = _texts_one_by_one(manager, obj)
    return responses if texts is None else _responses(responses, PromptPrefetcher(texts))


async def _responses(responses: AsyncGenerator[Any, None], prefetcher: PromptPrefetcher) -> AsyncGenerator[Any, None]:
    async with aclosing(responses):
        before = _of_this_request.set(prefetcher)
        try:
            first = await anext(responses)
        except StopAsyncIteration:
            return
        finally:
            # Even if a prompt was refused or the client disconnected.
            _of_this_request.reset(before)
            prefetcher.drop()
        yield first
        async for response in responses:
            yield response


def _texts_one_by_one(manager: Any, obj: Any) -> Sequence[str] | None:
    tokenizer = manager.tokenizer
    texts = getattr(obj, "text", None)
    if (
        type(texts) is not list
        or len(texts) < 2
        or any(type(text) is not str for text in texts)
        or getattr(obj, "input_ids", None) is not None
        or not hasattr(tokenizer, "_lopt_prefetch")
        # Verifying a prompt takes as long as Hugging Face does: the first prompt would wait for those in its batch.
        or settings_of(tokenizer).verify
    ):
        return None
    return texts
