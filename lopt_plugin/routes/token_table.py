"""Builds the native table of the text that each id contributes. It asks the reference for every token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokenizers import Tokenizer

from ..pipeline import Unsupported
from ..pipeline.component_state import some_are_skipped
from ..pipeline.decoders import Decoder
from .native_core import import_core

# A table has a place for each id up to the largest.
_MOST_PLACES = 1 << 24


def tokens_of(backend: Tokenizer) -> list[str | None]:
    """The token of each id, up to the largest; None where there is none. Raises Unsupported."""
    ids = [*backend.get_vocab(True).values(), *backend.get_added_tokens_decoder()]
    places = max(ids, default=-1) + 1
    if places > _MOST_PLACES:
        raise Unsupported(f"an id of the vocabulary is above {_MOST_PLACES:,}")
    return list(map(backend.id_to_token, range(places)))


def build_token_table(backend: Tokenizer, decoder: Decoder, tokens: list[str | None]) -> Any:
    """The native TokenTable of the tokens of `backend`. Raises Unsupported."""
    others, firsts = decoder.forms_of(tokens)
    byte_tokens = []
    if decoder.byte_fallback:
        for number, (other, first) in enumerate(zip(others, firsts, strict=True)):
            if other is not None and first is not None:
                byte = decoder.byte_of(other)
                if byte != decoder.byte_of(first):
                    raise Unsupported(f"the token {tokens[number]!r} stands for a byte in some places only")
                if byte is not None:
                    byte_tokens.append((number, byte))
    return import_core().token_table(
        tokens=tokens,
        added=others,
        firsts=firsts,
        special=_special_ids(backend, tokens),
        byte_level=decoder.byte_level,
        byte_tokens=byte_tokens,
        stripped=decoder.stripped,
        most_stripped=decoder.most_stripped,
    )


def _special_ids(backend: Tokenizer, tokens: Sequence[str | None]) -> list[int]:
    """The ids that are left out when special tokens are skipped.

    The reference compares the token's string, which may differ from the added token's content if the normalizer changed
    it. So each id that may be special is decoded.
    """
    added = backend.get_added_tokens_decoder()
    contents = {token.content for token in added.values()}
    asked = [number for number, token in enumerate(tokens) if number in added or token in contents]
    return [number for number in asked if some_are_skipped(backend, [number])]
