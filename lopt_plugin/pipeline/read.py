"""A Hugging Face tokenizer to a Pipeline."""

from __future__ import annotations

import tokenizers

from ..character_classes.word_characters import BertOptions
from .added_tokens import read_added_tokens
from .component_state import state_of
from .components import Pipeline
from .models import read_model
from .normalizer_steps import BlankNormalizer, NormalizerStep
from .normalizers import as_blanks, read_normalizer
from .post_processors import read_offset_trim, read_post_processor
from .pre_tokenizers import PreTokenizer, read_blank_signs, read_pre_tokenizer, read_word_pre_tokenizer
from .templates import read_templates
from .unsupported import Unsupported


def read_pipeline(tokenizer: tokenizers.Tokenizer) -> Pipeline | Unsupported:
    """What the tokenizer does, or why that is left to Hugging Face.

    Components are read one by one, the cheap ones first: writing out and parsing the model takes about half as long as
    loading the tokenizer did, and most tokenizers that are not supported are known by another component. What
    `encode_special_tokens`, truncation and padding are set to is not read: that is state of a call.
    """
    kind = type(tokenizer.model).__name__
    if kind == "Unigram":
        return Unsupported(
            "model Unigram is left to Hugging Face, whole texts at a time: any character may decide how "
            "all the others are divided"
        )
    if kind not in ("BPE", "WordPiece"):
        return Unsupported(f"model {kind} is not accelerated yet")

    normalizer_state = state_of(tokenizer.normalizer, "normalizer")
    if isinstance(normalizer_state, Unsupported):
        return normalizer_state
    read = read_normalizer(normalizer_state)
    if isinstance(read, Unsupported):
        return read
    normalizer: tuple[NormalizerStep, ...] | BlankNormalizer | BertOptions = read
    if normalizer and isinstance(normalizer, BertOptions) != (kind == "WordPiece"):
        name = "BertNormalizer" if isinstance(normalizer, BertOptions) else "of another kind than BertNormalizer"
        return Unsupported(f"normalizer {name} with a model {kind} is not accelerated yet")

    pre_tokenizer_state = state_of(tokenizer.pre_tokenizer, "pre-tokenizer")
    if isinstance(pre_tokenizer_state, Unsupported):
        return pre_tokenizer_state
    of_characters = False
    pre_tokenizer: PreTokenizer | Unsupported | None
    if isinstance(read, BertOptions) or kind == "WordPiece":
        pre_tokenizer = read_word_pre_tokenizer(pre_tokenizer_state)
    else:
        blanks = as_blanks(read)
        pre_tokenizer = read_blank_signs(pre_tokenizer_state, blanks or read)
        of_characters = pre_tokenizer is not None
        if of_characters and blanks:
            normalizer = blanks
        if pre_tokenizer is None:
            pre_tokenizer = read_pre_tokenizer(pre_tokenizer_state)
    if isinstance(pre_tokenizer, Unsupported):
        return pre_tokenizer

    post_processor_state = state_of(tokenizer.post_processor, "post-processor")
    if isinstance(post_processor_state, Unsupported):
        return post_processor_state
    post_processor = read_post_processor(post_processor_state)
    if isinstance(post_processor, Unsupported):
        return post_processor
    ids_added = len(post_processor.prefix_ids) + len(post_processor.suffix_ids)
    if ids_added != tokenizer.num_special_tokens_to_add(is_pair=False):
        return Unsupported(f"the post-processor says that it adds another number of ids than {ids_added}")

    added_tokens = read_added_tokens(tokenizer)
    if isinstance(added_tokens, Unsupported):
        return added_tokens
    model = read_model(tokenizer, of_characters)
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
