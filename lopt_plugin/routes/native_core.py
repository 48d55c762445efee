"""The native core of a Pipeline."""

from __future__ import annotations

import importlib.util
from typing import Any

from ..pipeline import BertOptions, BlankNormalizer, BytePairModel, Pipeline, SentencePieceModel, WordPieceModel
from ..pipeline.merges import Merges
from .normalizer_steps import form_table, native_steps


class NativeUnavailableError(Exception):
    """The native route cannot be had for this tokenizer or on this machine; the message says why."""


def build_core(pipeline: Pipeline) -> Any:
    """A core of its own, in some tenths of a second. Raises NativeUnavailableError."""
    try:
        from ..native import _core
    except ImportError as error:
        if importlib.util.find_spec("lopt_plugin.native._core") is None:
            raise NativeUnavailableError("installed without the native core (LOPT_PURE)") from error
        raise NativeUnavailableError(f"the native core is not installed: {error}") from error
    try:
        if isinstance(pipeline.model, WordPieceModel):
            return _core.WordPieceCore(**_word_piece_arguments(pipeline, pipeline.model))
        return _core.Core(**_byte_pair_arguments(pipeline, pipeline.model))
    except ValueError as error:
        raise NativeUnavailableError(str(error)) from error


def _byte_pair_arguments(pipeline: Pipeline, model: BytePairModel | SentencePieceModel) -> dict[str, Any]:
    from .. import character_classes

    classes = character_classes.load()
    steps = pipeline.normalizer if isinstance(pipeline.normalizer, tuple) else ()
    form_pages, form_cells = form_table(steps)
    return {
        "vocabulary": model.vocabulary,
        "merges": model.merges.text if isinstance(model.merges, Merges) else model.merges,
        "ignore_merges": isinstance(model, BytePairModel) and model.ignore_merges,
        "class_pages": classes.pages.tobytes(),
        "class_cells": classes.cells.tobytes(),
        "compose_pairs": classes.compose_pairs.astype("<u4").tobytes(),
        "byte_classes": character_classes.byte_classes(),
        "scanner": pipeline.scanner,
        "refinements": [(r.matcher, r.behavior, r.invert, r.after_byte_level) for r in pipeline.refinements],
        "add_prefix_space": pipeline.add_prefix_space,
        "dropped_bytes": model.dropped_bytes if isinstance(model, BytePairModel) else b"",
        "end_of_word_suffix": model.end_of_word_suffix if isinstance(model, BytePairModel) else "",
        "unknown_characters": (
            None if isinstance(model, BytePairModel) else (model.unk_token, model.fuse_unk, model.byte_fallback)
        ),
        "blank_signs": _blank_signs(pipeline),
        "normalizer": native_steps(steps),
        "form_pages": form_pages,
        "form_cells": form_cells,
        "added_tokens": _added_tokens(pipeline),
    }


def _blank_signs(pipeline: Pipeline) -> tuple[bool, bool, str] | None:
    normalizer, metaspace = pipeline.normalizer, pipeline.metaspace
    in_normalizer = isinstance(normalizer, BlankNormalizer)
    if not in_normalizer and metaspace is None:
        return None
    prepends = isinstance(normalizer, BlankNormalizer) and normalizer.prepends
    return in_normalizer, prepends, "never" if metaspace is None else metaspace.prepend


def _word_piece_arguments(pipeline: Pipeline, model: WordPieceModel) -> dict[str, Any]:
    """Words are normalized one by one, unless added tokens are looked for in the whole normalized text."""
    from ..character_classes import word_characters

    options = pipeline.normalizer if isinstance(pipeline.normalizer, BertOptions) else None
    characters = word_characters.load(options, pipeline.scanner)
    normalizes_text = options is not None and any(token.normalized for token in pipeline.added_tokens)
    plain = word_characters.load(None, pipeline.scanner) if normalizes_text else characters
    orders = options is not None and options.strips_accents()
    return {
        "vocabulary": model.vocabulary,
        "unknown_id": model.unknown_id,
        "continuing_prefix": model.continuing_prefix,
        "max_characters": model.max_characters,
        "characters": plain.as_bytes(),
        "text_characters": characters.as_bytes() if normalizes_text else None,
        "order": options.reorder().normalize_str if options is not None and orders else None,
        "added_tokens": _added_tokens(pipeline),
    }


def _added_tokens(pipeline: Pipeline) -> list[tuple[str, int, bool, bool, bool, bool, bool]]:
    """Those found in the normalized text come in their normalized form; the core's blanks are blanks."""
    of_blanks = isinstance(pipeline.normalizer, BlankNormalizer)
    return [
        (
            t.content.replace("\u2581", " ") if t.normalized and of_blanks else t.content,
            t.id,
            t.single_word,
            t.lstrip,
            t.rstrip,
            t.normalized,
            t.special,
        )
        for t in pipeline.added_tokens
    ]
