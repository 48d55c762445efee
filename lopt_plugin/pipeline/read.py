"""Reads a Hugging Face tokenizer into a Pipeline."""

from __future__ import annotations

import tokenizers

from ..unicode_tables.bert import BertOptions
from .added_tokens import read_added_tokens
from .component_state import Unsupported, states_of
from .models import read_model
from .normalizers import NormalizerStep, SpaceNormalizer, as_space_normalizer, read_normalizer
from .pipeline import Pipeline
from .post_processors import read_offset_trim, read_post_processor
from .pre_tokenizers import (
    read_pre_tokenizer,
    read_space_splitter,
    read_unigram_pre_tokenizer,
    read_word_pre_tokenizer,
)


def read_pipeline(tokenizer: tokenizers.Tokenizer) -> Pipeline:
    """The pipeline of a tokenizer. Raises Unsupported if it is left to Hugging Face.

    Reads cheap components first: writing and parsing the model takes about half as long as loading the tokenizer did,
    and most unsupported tokenizers differ in another component. Does not read `encode_special_tokens`, truncation and
    padding, which are state of a call.
    """
    kind = type(tokenizer.model).__name__
    if kind not in ("BPE", "WordPiece", "Unigram"):
        raise Unsupported(f"model {kind} is not accelerated yet")
    normalizer_state, pre_tokenizer_state, post_processor_state = states_of(tokenizer)

    read = read_normalizer(normalizer_state)
    if read and isinstance(read, BertOptions) != (kind == "WordPiece"):
        name = "BertNormalizer" if isinstance(read, BertOptions) else "other than BertNormalizer"
        raise Unsupported(f"normalizer {name} with a model {kind} is not accelerated yet")

    normalizer: tuple[NormalizerStep, ...] | SpaceNormalizer | BertOptions = read
    over_characters = None
    if isinstance(read, BertOptions) or kind == "WordPiece":
        pre_tokenizer = read_word_pre_tokenizer(pre_tokenizer_state)
    elif kind == "Unigram":
        pre_tokenizer = read_unigram_pre_tokenizer(pre_tokenizer_state, read)
    else:
        spaces = as_space_normalizer(read)
        over_characters = read_space_splitter(pre_tokenizer_state, spaces or read)
        pre_tokenizer = over_characters or read_pre_tokenizer(pre_tokenizer_state)
        if over_characters and spaces:
            normalizer = spaces

    post_processor, templates = read_post_processor(tokenizer, post_processor_state)
    added_tokens = read_added_tokens(tokenizer)
    prepends_first = pre_tokenizer.metaspace == "first"
    if kind == "Unigram" and read and prepends_first and any(token.normalized for token in added_tokens):
        # After a token that ends inside what the text's first character became, the rest of that has the offset 0, too.
        raise Unsupported(
            "pre-tokenizer Metaspace with prepend 'first', a normalizer, and added tokens of normalized text "
            "are not accelerated together"
        )
    return Pipeline(
        normalizer=normalizer,
        **vars(pre_tokenizer),
        model=read_model(tokenizer, over_characters is not None),
        added_tokens=added_tokens,
        post_processor=post_processor,
        templates=templates,
        offset_trim=read_offset_trim(post_processor_state),
    )
