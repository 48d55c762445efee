"""A Pipeline in words, for explain()."""

from __future__ import annotations

from typing import Literal

from .components import BertOptions, BytePairModel, Pipeline, Refinement, WordPieceModel


def describe(pipeline: Pipeline) -> dict[str, str]:
    """One short line for each component; equal pipelines have equal descriptions."""
    post_processor = pipeline.post_processor
    special = sum(token.special for token in pipeline.added_tokens)
    return {
        "normalizer": _describe_normalizer(pipeline.normalizer),
        "scanner": pipeline.scanner + (", prefix space" if pipeline.add_prefix_space else ""),
        "refinements": ", ".join(map(_describe_refinement, pipeline.refinements)) or "none",
        "model": _describe_model(pipeline.model),
        "added_tokens": f"{len(pipeline.added_tokens):,}, {special:,} special",
        "post_processor": f"{list(post_processor.prefix_ids)} + text + {list(post_processor.suffix_ids)}",
    }


def _describe_normalizer(normalizer: Literal["nfc"] | BertOptions | None) -> str:
    if not isinstance(normalizer, BertOptions):
        return normalizer or "none"
    steps = {
        "text cleaned": normalizer.clean_text,
        "Chinese characters spaced": normalizer.handle_chinese_chars,
        "accents stripped": normalizer.strips_accents(),
        "lower case": normalizer.lowercase,
    }
    return "bert: " + (", ".join(step for step, done in steps.items() if done) or "nothing")


def _describe_model(model: BytePairModel | WordPieceModel) -> str:
    if isinstance(model, WordPieceModel):
        return (
            f"WordPiece, {len(model.vocabulary):,} entries, prefix {model.continuing_prefix!r}, "
            f"unknown {model.unknown_token!r}, words of up to {model.max_characters:,} characters"
        )
    return (
        f"byte-level BPE, {len(model.vocabulary):,} entries, {len(model.merges):,} merges"
        + (", merges ignored for whole entries" if model.ignore_merges else "")
        + (f", {len(model.dropped_bytes)} bytes dropped" if model.dropped_bytes else "")
    )


def _describe_refinement(refinement: Refinement) -> str:
    words = [refinement.matcher, refinement.behavior.replace("_", " ")]
    if refinement.invert:
        words.append("inverted")
    if refinement.after_byte_level:
        words.append("after ByteLevel")
    return " ".join(words)
