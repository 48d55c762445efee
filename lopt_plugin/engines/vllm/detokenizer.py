"""Decodes vLLM's streams natively."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import ledger
from .tokenizer import logger

if TYPE_CHECKING:
    from ...encoder.decode_stream import DecodeStream


class _Stream:
    """A native stream with the interface of `tokenizers.decoders.DecodeStream`."""

    def __init__(self, stream: DecodeStream) -> None:
        self._step = stream.step

    def step(self, tokenizer: Any, id: Any) -> str | None:
        return self._step(id)


def begins_with_prompt() -> bool:
    """Whether vLLM passes all of the prompt's ids to the stream at once; earlier releases add some step by step."""
    code = inspect.unwrap(ledger.DETOKENIZER.resolve_as_known()).__code__
    return any("ids" in names for names in code.co_consts if type(names) is tuple)


def decode_natively(init: Callable[..., None]) -> Callable[..., None]:
    """`FastIncrementalDetokenizer.__init__` with a native stream in place of the library's."""

    def init_natively(self: Any, tokenizer: Any, request: Any) -> None:
        init(self, tokenizer, request)
        # Not `tokenizer.lopt`: vLLM decodes with the tokenizer's own backend, even if a copy answers the calls.
        encoder = getattr(tokenizer, "__dict__", {}).get("_lopt_encoder")
        if encoder is None or encoder._backend is not tokenizer._tokenizer or not encoder._decoding.current().streams:
            return
        try:
            self.stream = _Stream(encoder.decode_stream(request.prompt_token_ids or (), bool(self.skip_special_tokens)))
        except Exception:
            logger.exception("lopt_plugin: could not decode a stream natively; Hugging Face decodes it")

    return init_natively
