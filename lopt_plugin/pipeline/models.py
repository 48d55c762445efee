"""Hugging Face models: byte-level BPE and WordPiece."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterator

import tokenizers

from ..character_classes import alphabet
from .component_state import unknown_options
from .components import BytePairModel, Unsupported, WordPieceModel

_WORD_PIECE_OPTIONS = {"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}
_OPTIONS = {
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
}
# All but 0xC0, 0xC1 and 0xF5 to 0xFF.
_BYTES_OF_UTF8 = (*range(0xC0), *range(0xC2, 0xF5))


def read_model(tokenizer: tokenizers.Tokenizer) -> BytePairModel | WordPieceModel | Unsupported:
    """The model, which must be a BPE or a WordPiece."""
    if type(tokenizer.model).__name__ == "WordPiece":
        return _read_word_piece(tokenizer)
    return _read_byte_pairs(tokenizer)


def _read_word_piece(tokenizer: tokenizers.Tokenizer) -> WordPieceModel | Unsupported:
    """A word that needs an unknown token is an error where the vocabulary has none; that is left to Hugging Face."""
    with _garbage_collection_paused():
        state = json.loads(tokenizer.model.__getstate__())
    if unsupported := unknown_options(state, _WORD_PIECE_OPTIONS, "model"):
        return unsupported
    vocabulary: dict[str, int] = state["vocab"]
    if len(vocabulary) != tokenizer.get_vocab_size(with_added_tokens=False):
        return Unsupported("model WordPiece has two entries with one id")
    unknown_token = state["unk_token"]
    if unknown_token not in vocabulary:
        return Unsupported(f"model WordPiece has the unknown token {unknown_token!r}, which is no entry")
    return WordPieceModel(
        vocabulary, unknown_token, state["continuing_subword_prefix"], state["max_input_chars_per_word"]
    )


def _read_byte_pairs(tokenizer: tokenizers.Tokenizer) -> BytePairModel | Unsupported:
    """The vocabulary and the merges of a BPE model, which must be byte-level.

    What to do with an unknown character (unk_token, fuse_unk, byte_fallback) does not matter where the vocabulary has
    every byte that a text can contain: then there are none. Without any of these options Hugging Face drops unknown
    characters before it merges, so that their neighbours may meet (Falcon lacks 15 bytes). That merges name entries is
    left to the native core.
    """
    with _garbage_collection_paused():
        state = json.loads(tokenizer.model.__getstate__())
        merges = state.get("merges", [])
        vocabulary: dict[str, int] = state.get("vocab", {})
        if merges and not isinstance(merges[0], str) and " " not in "".join(vocabulary):
            merges = list(map(" ".join, merges))  # a third of the memory, and nothing for the collector to visit
        state["merges"] = merges
    if unsupported := unknown_options(state, _OPTIONS, "model"):
        return unsupported
    if state["dropout"]:
        return Unsupported("model BPE with dropout is not accelerated: it is random")
    for option in ("continuing_subword_prefix", "end_of_word_suffix"):
        if state[option]:
            return Unsupported(f"model BPE with {option} {state[option]!r} is not accelerated yet")
    if len(vocabulary) != tokenizer.get_vocab_size(with_added_tokens=False):
        return Unsupported("model BPE has two entries with one id")
    ignore_merges = bool(state.get("ignore_merges", False))
    missing = bytes(byte for byte in _BYTES_OF_UTF8 if alphabet()[byte] not in vocabulary)
    if missing and (state["unk_token"] is not None or state.get("byte_fallback") or ignore_merges):
        return Unsupported(f"model BPE is not byte-level: its vocabulary lacks {len(missing)} bytes")
    return BytePairModel(vocabulary, merges, ignore_merges, missing)


@contextlib.contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Hundreds of thousands of new lists, none of them garbage, would be visited again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
