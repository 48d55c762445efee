"""Reads a Hugging Face tokenizer into a Pipeline."""

from __future__ import annotations

import tokenizers

from ..unicode_tables.bert import BertOptions
from .added_tokens import read_added_tokens
from .component_state import states_of
from .models import read_model
from .normalizers import as_space_normalizer, read_normalizer
from .pipeline import NormalizerStep, Pipeline, SpaceNormalizer, Unsupported
from .post_processors import read_offset_trim, read_post_processor
from .pre_tokenizers import PreTokenizer, read_pre_tokenizer, read_space_splitter, read_word_pre_tokenizer
from .templates import read_templates


def read_pipeline(tokenizer: tokenizers.Tokenizer) -> Pipeline | Unsupported:
    """What the tokenizer does, or why that is left to Hugging Face.

    Reads cheap components first: writing and parsing the model takes about half as long as loading the tokenizer did,
    and most unsupported tokenizers differ in another component. Does not read `encode_special_tokens`, truncation and
    padding, which are state of a call.
    """
    kind = type(tokenizer.model).__name__
    if kind == "Unigram":
        return Unsupported(
            "model Unigram is left to Hugging Face, whole texts at a time: any character may decide how "
            "all the others are divided"
        )
    if kind not in ("BPE", "WordPiece"):
        return Unsupported(f"model {kind} is not accelerated yet")
    states = states_of(tokenizer)
    if isinstance(states, Unsupported):
        return states
    normalizer_state, pre_tokenizer_state, post_processor_state = states

    read = read_normalizer(normalizer_state)
    if isinstance(read, Unsupported):
        return read
    if read and isinstance(read, BertOptions) != (kind == "WordPiece"):
        name = "BertNormalizer" if isinstance(read, BertOptions) else "of another kind than BertNormalizer"
        return Unsupported(f"normalizer {name} with a model {kind} is not accelerated yet")

    normalizer: tuple[NormalizerStep, ...] | SpaceNormalizer | BertOptions = read
    over_characters = False
    pre_tokenizer: PreTokenizer | Unsupported | None
    if isinstance(read, BertOptions) or kind == "WordPiece":
        pre_tokenizer = read_word_pre_tokenizer(pre_tokenizer_state)
    else:
        spaces = as_space_normalizer(read)
        pre_tokenizer = read_space_splitter(pre_tokenizer_state, spaces or read)
        over_characters = pre_tokenizer is not None
        if over_characters and spaces:
            normalizer = spaces
        if pre_tokenizer is None:
            pre_tokenizer = read_pre_tokenizer(pre_tokenizer_state)
    if isinstance(pre_tokenizer, Unsupported):
        return pre_tokenizer

    post_processor = read_post_processor(post_processor_state, tokenizer.num_special_tokens_to_add(is_pair=False))
    if isinstance(post_processor, Unsupported):
        return post_processor
    added_tokens = read_added_tokens(tokenizer)
    if isinstance(added_tokens, Unsupported):
        return added_tokens
    model = read_model(tokenizer, over_characters)
    if isinstance(model, Unsupported):
        return model
    return Pipeline(
        normalizer=normalizer,
        scanner=pre_tokenizer.scanner,
        refinements=pre_tokenizer.refinements,
        add_prefix_space=pre_tokenizer.add_prefix_space,
        model=model,
        added_tokens=added_tokens,
        post_processor=post_processor,
        metaspace=pre_tokenizer.metaspace,
        templates=read_templates(tokenizer),
        offset_trim=read_offset_trim(post_processor_state),
    )
