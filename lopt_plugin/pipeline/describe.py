"""Describes a Pipeline in words, for `explain`."""

from __future__ import annotations

from ..unicode_tables.bert import BertOptions
from .normalizers import NormalizerStep, SpaceNormalizer, describe_step
from .pipeline import BytePairModel, Model, Pipeline, Refinement, UnigramModel, WordPieceModel


def describe(pipeline: Pipeline) -> dict[str, str]:
    """One short line for each component; equal pipelines have equal descriptions."""
    post_processor = pipeline.post_processor
    special = sum(token.special for token in pipeline.added_tokens)
    return {
        "normalizer": _describe_normalizer(pipeline.normalizer),
        "scanner": pipeline.scanner
        + (", prefix space" if pipeline.add_prefix_space else "")
        + (f", Metaspace with prepend {pipeline.metaspace}" if pipeline.metaspace else ""),
        "refinements": ", ".join(map(_describe_refinement, pipeline.refinements)) or "none",
        "model": _describe_model(pipeline.model),
        "added_tokens": f"{len(pipeline.added_tokens):,}, {special:,} special",
        "post_processor": f"{list(post_processor.prefix_ids)} + text + {list(post_processor.suffix_ids)}",
    }


def _describe_normalizer(normalizer: tuple[NormalizerStep, ...] | SpaceNormalizer | BertOptions) -> str:
    if isinstance(normalizer, SpaceNormalizer):
        return "spaces as U+2581" + (", prefix space" if normalizer.prepends else "")
    if isinstance(normalizer, BertOptions):
        return "bert: " + _describe_bert(normalizer)
    return ", ".join(map(describe_step, normalizer)) or "none"


def _describe_bert(options: BertOptions) -> str:
    steps = {
        "text cleaned": options.clean_text,
        "Chinese characters spaced": options.handle_chinese_chars,
        "accents stripped": options.strips_accents(),
        "lower case": options.lowercase,
    }
    return ", ".join(step for step, done in steps.items() if done) or "nothing"


def _describe_model(model: Model) -> str:
    if isinstance(model, WordPieceModel):
        return (
            f"WordPiece, {len(model.vocabulary):,} entries, prefix {model.continuing_prefix!r}, "
            f"unknown {model.unknown_token!r}, words of up to {model.max_characters:,} characters"
        )
    if isinstance(model, UnigramModel):
        unknown = model.pieces[model.unknown_id][0]
        fallback = "as bytes" if model.byte_fallback else f"as {unknown}, fused"
        return f"Unigram, {len(model.pieces):,} pieces, unknown characters {fallback}"
    size = f"{len(model.vocabulary):,} entries"
    if isinstance(model, BytePairModel):
        return (
            f"byte-level BPE, {size}"
            + (", merges ignored for whole entries" if model.ignore_merges else "")
            + (f", {len(model.dropped_bytes)} bytes dropped" if model.dropped_bytes else "")
            + (f", words end in {model.end_of_word_suffix!r}" if model.end_of_word_suffix else "")
        )
    unknown = "as bytes" if model.byte_fallback else f"as {model.unk_token}{', fused' if model.fuse_unk else ''}"
    return f"BPE over characters, {size}, unknown characters {unknown}"


def _describe_refinement(refinement: Refinement) -> str:
    words = [refinement.matcher, refinement.behavior.replace("_", " ")]
    if refinement.invert:
        words.append("inverted")
    if refinement.after_byte_level:
        words.append("after ByteLevel")
    return " ".join(words)
