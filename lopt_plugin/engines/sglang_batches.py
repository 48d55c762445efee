"""The prompts of a request that has several, which SGLang asks the tokenizer for one after the other.

(All at once only with `--enable-tokenizer-batch-encode`.) They are tokenized ahead of their turn, by threads that need
no interpreter lock, while SGLang makes requests of those before and sends them. No prompt waits for a later one, and
what SGLang asks for otherwise than in that order is tokenized when it asks.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

from .texts_ahead import TextsAhead

HANDLE_BATCH = "sglang.srt.managers.tokenizer_manager:TokenizerManager._handle_batch_request"

logger = logging.getLogger("sglang.lopt_plugin")


class PromptsAhead:
    """Texts that are asked for in their order, once each."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._ahead = TextsAhead(self._texts)
        self._next = 0

    def take(self, text: str, tokenizer: Any) -> list[int] | None:
        """Ids of `tokenizer(text)`; None where it has to be asked. Never raises."""
        place = self._next
        if place == len(self._texts):
            return None
        if self._texts[place] is not text:
            self.drop()
            return None
        self._next += 1
        try:
            ids = self._ahead.take(place, text, tokenizer, {})
        except Exception:
            logger.exception("lopt_plugin: prompts are not tokenized ahead")
            ids = None
            self.drop()
        if self._next == len(self._texts):
            self.drop()
        return ids

    def drop(self) -> None:
        """Nothing more is begun or given, and no text is kept."""
        self._texts = ()
        self._ahead = TextsAhead(())
        self._next = 0


_of_this_request: ContextVar[PromptsAhead | None] = ContextVar("lopt_sglang_prompts_ahead", default=None)


def ids_ahead(text: str, tokenizer: Any) -> list[int] | None:
    """Ids of the prompt that SGLang asks for now, if it was tokenized ahead."""
    ahead = _of_this_request.get()
    return None if ahead is None else ahead.take(text, tokenizer)


def can_handle_batches(handle: Any) -> bool:
    """Whether `_handle_batch_request` of the installed SGLang is what `handle_batch_ahead` takes it for."""
    parameters = list(inspect.signature(handle).parameters)
    return inspect.isasyncgenfunction(handle) and parameters[:2] == ["self", "obj"]


def handle_batch_ahead(handle: Callable[..., Any], manager: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Around `_handle_batch_request`, which tokenizes all prompts before its first response."""
    responses = handle(manager, obj, *args, **kwargs)
    texts = _texts_one_by_one(manager, obj)
    return responses if texts is None else _responses(responses, PromptsAhead(texts))


async def _responses(responses: AsyncGenerator[Any, None], ahead: PromptsAhead) -> AsyncGenerator[Any, None]:
    async with aclosing(responses):
        before = _of_this_request.set(ahead)
        try:
            first = await anext(responses)
        except StopAsyncIteration:
            return
        finally:
            # Also where a prompt was refused, or nobody waits for the answer any more.
            _of_this_request.reset(before)
            ahead.drop()
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
        or not hasattr(tokenizer, "_lopt_encode_ahead")
        # What is verified takes Hugging Face's time, for which a prompt would wait with those behind it.
        or tokenizer.lopt.settings.verify
    ):
        return None
    return texts
