"""A Pipeline in words, for explain()."""

from __future__ import annotations

from .components import Pipeline, Refinement
from .normalizers import describe_step


def describe(pipeline: Pipeline) -> dict[str, str]:
    """One short line for each component; equal pipelines have equal descriptions."""
    model, post_processor = pipeline.model, pipeline.post_processor
    special = sum(token.special for token in pipeline.added_tokens)
    return {
        "normalizer": ", ".join(map(describe_step, pipeline.normalizer)) or "none",
        "scanner": pipeline.scanner + (", prefix space" if pipeline.add_prefix_space else ""),
        "refinements": ", ".join(map(_describe_refinement, pipeline.refinements)) or "none",
        "model": f"byte-level BPE, {len(model.vocabulary):,} entries, {len(model.merges):,} merges"
        + (", merges ignored for whole entries" if model.ignore_merges else "")
        + (f", {len(model.dropped_bytes)} bytes dropped" if model.dropped_bytes else "")
        + (f", words end in {model.end_of_word_suffix!r}" if model.end_of_word_suffix else ""),
        "added_tokens": f"{len(pipeline.added_tokens):,}, {special:,} special",
        "post_processor": f"{list(post_processor.prefix_ids)} + text + {list(post_processor.suffix_ids)}",
    }


def _describe_refinement(refinement: Refinement) -> str:
    words = [refinement.matcher, refinement.behavior.replace("_", " ")]
    if refinement.invert:
        words.append("inverted")
    if refinement.after_byte_level:
        words.append("after ByteLevel")
    return " ".join(words)
