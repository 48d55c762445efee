"""Tokenizers with a tiktoken encoding inside: the native core produces its ids; everything else is unchanged."""

from __future__ import annotations

from typing import Any

import tiktoken

from ..encoder.tiktoken_encoder import TiktokenEncoder
from ..settings import Settings

# Where tokenizers keep it: Mistral's Tekken in vLLM, Kimi-Audio in vLLM, Qwen and GLM, Kimi K2, DBRX.
_PLACES = ("tokenizer._model", "_tokenizer", "tokenizer", "model", "encoding")


class LoptEncoding(tiktoken.Encoding):  # type: ignore[misc]
    """A tiktoken encoding whose `encode` and `encode_ordinary`, and the batch methods that call them, are native."""

    _lopt_encoder: TiktokenEncoder

    @classmethod
    def of(cls, encoder: TiktokenEncoder) -> LoptEncoding:
        """An object with the attributes of the encoder's encoding, which is not built again."""
        made = cls.__new__(cls)
        made.__dict__.update(vars(encoder.encoding), _lopt_encoder=encoder)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return LoptEncoding.of, (self._lopt_encoder,)

    def encode(self, text: str, **arguments: Any) -> list[int]:
        """As in tiktoken."""
        return self._lopt_encoder.encode(text, **arguments)

    def encode_ordinary(self, text: str) -> list[int]:
        """As in tiktoken."""
        return self._lopt_encoder.encode_ordinary(text)


def accelerate_inside(tokenizer: Any, settings: Settings) -> str | None:
    """Replaces the encoding inside a tokenizer with an accelerated one, in place, for everyone who holds the tokenizer.

    Returns:
        None if it is accelerated; otherwise the reason why not.
    """
    for place in _PLACES:
        *path, name = place.split(".")
        owner = tokenizer
        for step in path:
            owner = _attribute(owner, step)
        encoding = _attribute(owner, name)
        if isinstance(encoding, LoptEncoding):
            return None
        if isinstance(encoding, tiktoken.Encoding):
            explained = (encoder := TiktokenEncoder(encoding, settings)).explain()
            if explained["route"] != "native":
                return f"its tiktoken encoding is not native: {explained['reason']}"
            setattr(owner, name, LoptEncoding.of(encoder))
            return None
    return "it has no tiktoken encoding"


def _attribute(owner: Any, name: str) -> Any:
    """An attribute of the object itself; not a property, nor what stands for a missing one."""
    return getattr(owner, "__dict__", {}).get(name)
