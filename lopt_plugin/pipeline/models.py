"""Hugging Face models: BPE over bytes or over characters, WordPiece, and Unigram."""

from __future__ import annotations

import json

import tokenizers

from ..unicode_tables.byte_level import alphabet
from .component_state import Unsupported, check_options
from .model_json import split_state
from .pipeline import BytePairModel, Model, SentencePieceModel, UnigramModel, WordPieceModel

# All options of these models besides entries and merges; `BackendWatch` watches the same ones.
WORD_PIECE_OPTIONS = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word")
BYTE_PAIR_OPTIONS = (
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)
LARGEST_ID = (1 << 20) - 2  # of the native core
# The attributes that make it sample; they are not part of its state.
UNIGRAM_OPTIONS = ("alpha", "nbest_size")
# All but 0xC0, 0xC1 and 0xF5 to 0xFF.
_BYTES_OF_UTF8 = (*range(0xC0), *range(0xC2, 0xF5))


def read_model(tokenizer: tokenizers.Tokenizer, over_characters: bool) -> Model:
    """The model, a WordPiece, a Unigram, or a BPE: over characters if `over_characters`, else byte-level.

    Raises Unsupported.
    """
    kind = type(tokenizer.model).__name__
    if kind == "Unigram":  # its ids are the positions in a list
        return _read_unigram(tokenizer)
    _check_ids(tokenizer)
    if kind == "WordPiece":
        return _read_word_piece(tokenizer)
    return _read_byte_pairs(tokenizer, over_characters)


def _check_ids(tokenizer: tokenizers.Tokenizer) -> None:
    """Raises Unsupported for a huge id, as Hugging Face writes a model's state in time that grows with the largest id.

    Where an id is huge, a smaller one is missing. That shows in the text of all smaller ones, which takes about a
    twentieth of the time that Hugging Face takes to load.
    """
    model, size = tokenizer.model, tokenizer.get_vocab_size(with_added_tokens=False)
    # Without a decoder, entries are joined by spaces. There are as many as expected, unless entries have spaces, too.
    joined = tokenizers.Tokenizer(model).decode(list(range(size)), skip_special_tokens=False)
    if size == 0 or joined.count(" ") == size - 1:
        return
    largest = max(tokenizer.get_vocab(with_added_tokens=False).values())
    if largest > LARGEST_ID:
        raise Unsupported(f"the vocabulary has the id {largest}, and ids above {LARGEST_ID} are not accelerated")


def _read_word_piece(tokenizer: tokenizers.Tokenizer) -> WordPieceModel:
    """Without an unknown token in the vocabulary, a word that needs one is an error, which is left to Hugging Face."""
    state = json.loads(tokenizer.model.__getstate__())
    check_options(state, {*WORD_PIECE_OPTIONS, "vocab"}, "model")
    vocabulary: dict[str, int] = state["vocab"]
    if len(vocabulary) != tokenizer.get_vocab_size(with_added_tokens=False):
        raise Unsupported("model WordPiece has two entries with one id")
    unknown_token = state["unk_token"]
    if unknown_token not in vocabulary:
        raise Unsupported(f"model WordPiece has the unknown token {unknown_token!r}, which is not an entry")
    return WordPieceModel(
        vocabulary, unknown_token, state["continuing_subword_prefix"], state["max_input_chars_per_word"]
    )


def _read_unigram(tokenizer: tokenizers.Tokenizer) -> UnigramModel:
    """The state has the scores as the reference loaded them, each in the shortest form that gives the same number.

    Without an unknown id, a character that needs one is an error, which is left to Hugging Face.
    """
    model = tokenizer.model
    state = json.loads(model.__getstate__())
    check_options(state, {"unk_id", "vocab", "byte_fallback"}, "model")
    if any(getattr(model, option, None) is not None for option in UNIGRAM_OPTIONS):
        raise Unsupported("model Unigram with alpha or nbest_size is not accelerated: it is random")
    if state["unk_id"] is None:
        raise Unsupported("model Unigram without an unknown id is not accelerated")
    pieces = [(name, score) for name, score in state["vocab"]]
    return UnigramModel(pieces, state["unk_id"], bool(state.get("byte_fallback")))


def _read_byte_pairs(tokenizer: tokenizers.Tokenizer, over_characters: bool) -> BytePairModel | SentencePieceModel:
    """A BPE model: over characters if `over_characters`, else byte-level.

    The options for unknown characters (unk_token, fuse_unk, byte_fallback) do not matter if the vocabulary has every
    byte that a text can contain: then none is unknown. Without any of them, Hugging Face drops unknown characters
    before it merges, so their neighbours may meet (Falcon lacks 15 bytes). The native core checks that merges name
    entries, and that no two entries have one id.
    """
    size, model = tokenizer.get_vocab_size(with_added_tokens=False), tokenizer.model
    state, vocabulary, merges = split_state(model.__getstate__(), size)
    check_options(state, set(BYTE_PAIR_OPTIONS), "model")
    if state["dropout"]:
        raise Unsupported("model BPE with dropout is not accelerated: it is random")
    if prefix := state["continuing_subword_prefix"]:
        raise Unsupported(f"model BPE with continuing_subword_prefix {prefix!r} is not accelerated yet")
    ignore_merges = bool(state.get("ignore_merges", False))
    if over_characters:
        if ignore_merges:
            raise Unsupported("model BPE with ignore_merges over characters is not accelerated yet")
        return SentencePieceModel(
            vocabulary, merges, state["unk_token"], bool(state["fuse_unk"]), bool(state.get("byte_fallback"))
        )
    missing = bytes(byte for byte in _BYTES_OF_UTF8 if model.token_to_id(alphabet()[byte]) is None)
    if missing and (state["unk_token"] is not None or state.get("byte_fallback") or ignore_merges):
        raise Unsupported(f"model BPE is not byte-level: its vocabulary lacks {len(missing)} bytes")
    found = BytePairModel(vocabulary, merges, ignore_merges, missing, state["end_of_word_suffix"] or "")
    if found.end_of_word_suffix:
        _check_suffix(found)
    return found


def _check_suffix(model: BytePairModel) -> None:
    """For a model that adds a suffix to the last character of a word (CLIP): no character may be unknown to it."""
    suffix = model.end_of_word_suffix
    with_option = f"model BPE with end_of_word_suffix {suffix!r}"
    if model.ignore_merges:
        raise Unsupported(f"{with_option} and ignore_merges is not accelerated")
    names = [alphabet()[byte] + end for byte in _BYTES_OF_UTF8 for end in ("", suffix)]
    missing = sum(name not in model.vocabulary for name in names)
    if missing:
        raise Unsupported(f"{with_option} lacks {missing} of the {len(names)} bytes with and without it")
