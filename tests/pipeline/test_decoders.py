"""Decoders that are left to the reference. The texts of the others are in tests/encoder/test_decoding.py."""

from __future__ import annotations

import hard_vocabulary
import pytest
from tokenizers import decoders

from lopt_plugin.pipeline import Unsupported
from lopt_plugin.pipeline.decoders import read_decoder


@pytest.mark.parametrize("kind", sorted(set(hard_vocabulary.UNSUPPORTED) - {"a byte in some places"}))
def test_unsupported(kind: str) -> None:
    with pytest.raises(Unsupported, match="decoder"):
        read_decoder(hard_vocabulary.with_decoder(hard_vocabulary.UNSUPPORTED[kind]))


def test_a_decoder_written_in_python() -> None:
    class Own:
        def decode_chain(self, tokens: list[str]) -> list[str]:
            return tokens

    with pytest.raises(Unsupported, match="decoder cannot be read"):
        read_decoder(hard_vocabulary.with_decoder(decoders.Decoder.custom(Own())))


def test_a_replaced_method() -> None:
    backend = hard_vocabulary.with_decoder(None)
    backend.decode = lambda ids, **_: "text"
    with pytest.raises(Unsupported, match="was replaced"):
        read_decoder(backend)
