"""The native core of a Pipeline."""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Callable
from typing import Any

from tokenizers import Tokenizer, models, normalizers

from ..pipeline import (
    BertOptions,
    BytePairModel,
    Pipeline,
    SentencePieceModel,
    SpaceNormalizer,
    UnigramModel,
    WordPieceModel,
    normalizers as kinds,
)
from ..pipeline.component_state import Unsupported, tokenizer_with
from ..pipeline.model_json import Entries
from ..unicode_tables import normalizers as sets
from ..unicode_tables.byte_level import byte_classes
from ..unicode_tables.load import character_classes, classes_with_han, normalizer_classes, word_characters
from .core_values import CoreValues, describe


def native_steps(steps: tuple[kinds.NormalizerStep, ...]) -> list[tuple[Any, ...]]:
    """The steps of a normalizer, see core_values.py."""
    return [_native_step(step) for step in steps]


def form_table(steps: tuple[kinds.NormalizerStep, ...]) -> tuple[bytes, bytes]:
    """The arguments `form_pages` and `form_cells`; empty where no step needs them."""
    if all(not isinstance(step, kinds.NormalizationForm) or step.form == "NFC" for step in steps):
        return b"", b""
    table = normalizer_classes()
    return table.pages.tobytes(), table.cells.tobytes()


def _native_step(step: kinds.NormalizerStep) -> tuple[Any, ...]:
    if isinstance(step, kinds.NormalizationForm):
        return "form", step.form, getattr(normalizers, step.form)().normalize_str, _alignment(step)
    if isinstance(step, kinds.MapCharacters):
        return "characters", list(sets.single_characters(step.kind))
    if isinstance(step, kinds.Strip):
        return "strip", sets.white_space(), step.left, step.right
    if isinstance(step, kinds.Prepend):
        return "prepend", step.text
    if isinstance(step, kinds.ReplaceText):
        return "replace", step.text, step.content
    if isinstance(step, kinds.ReplaceRuns):
        of = sets.regex_white_space() if step.of == "white space" else step.of
        return "replace_runs", of, step.least, step.each, step.content
    if isinstance(step, kinds.Precompiled):
        state = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(step.charsmap).decode()}
        return "precompiled", step.charsmap, *sets.joining(), _reference(json.dumps(state))
    return "reference", _reference(step.state)


def _reference(state: str) -> Callable[[str], str]:
    """The reference's own normalizer, from its JSON."""
    normalize: Callable[[str], str] = tokenizer_with(models.BPE(), {"normalizer": state}).normalizer.normalize_str
    return normalize


def _alignment(step: kinds.NormalizationForm) -> Callable[[str], list[tuple[int, int]]]:
    """For each character of a text's normalized form, the characters it came from, according to the reference."""
    # A model with an empty vocabulary: every character is a token, and tokens have offsets.
    by_character = Tokenizer(models.BPE({"unknown": 0}, [], unk_token="unknown", fuse_unk=False, cache_capacity=0))
    by_character.normalizer = getattr(normalizers, step.form)()

    def align(text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = by_character.encode(text).offsets
        return offsets

    return align


def import_core() -> Any:
    """The extension module. Raises Unsupported."""
    try:
        from ..native import _core
    except ImportError as error:
        if importlib.util.find_spec("lopt_plugin.native._core") is None:
            raise Unsupported("installed without the native core (LOPT_PURE)") from error
        raise Unsupported(f"the native core is not installed: {error}") from error
    return _core


def build_core(pipeline: Pipeline) -> Any:
    """A new core, built in some tenths of a second. Raises Unsupported."""
    try:
        kind, arguments = core_arguments(pipeline)
        vocabulary = arguments.get("vocabulary")
        if isinstance(vocabulary, Entries):
            arguments["vocabulary"] = vocabulary.text, vocabulary.size
        return core_of(kind, arguments)
    except ValueError as error:
        raise Unsupported(str(error)) from error


def core_of(kind: str, arguments: dict[str, Any]) -> Any:
    """A core with these arguments, see core_values.py. Raises ValueError, with the reason, for what it cannot do."""
    _core = import_core()
    types = {"byte pair": _core.Core, "unigram": _core.UnigramCore, "word piece": _core.WordPieceCore}
    values = CoreValues()
    describe(values, kind, arguments)
    return types[kind](values.values)


def core_arguments(pipeline: Pipeline) -> tuple[str, dict[str, Any]]:
    """The kind of core, "byte pair", "unigram" or "word piece", and its arguments, see core_values.py.

    The vocabulary is that of the pipeline.
    """
    if isinstance(pipeline.model, WordPieceModel):
        return "word piece", _word_piece_arguments(pipeline, pipeline.model)
    if isinstance(pipeline.model, UnigramModel):
        return "unigram", _unigram_arguments(pipeline, pipeline.model)
    return "byte pair", _byte_pair_arguments(pipeline, pipeline.model)


def _byte_pair_arguments(pipeline: Pipeline, model: BytePairModel | SentencePieceModel) -> dict[str, Any]:
    return {
        "vocabulary": model.vocabulary,
        "merges": model.merges.text,
        "ignore_merges": isinstance(model, BytePairModel) and model.ignore_merges,
        "byte_classes": byte_classes(),
        "scanner": pipeline.scanner,
        "refinements": [(r.matcher, r.behavior, r.invert, r.after_byte_level) for r in pipeline.refinements],
        "add_prefix_space": pipeline.add_prefix_space,
        "dropped_bytes": model.dropped_bytes if isinstance(model, BytePairModel) else b"",
        "end_of_word_suffix": model.end_of_word_suffix if isinstance(model, BytePairModel) else "",
        "unknown_characters": (
            None if isinstance(model, BytePairModel) else (model.unk_token, model.fuse_unk, model.byte_fallback)
        ),
        "space_signs": _space_signs(pipeline),
        **_normalizer_arguments(pipeline),
        "added_tokens": _added_tokens(pipeline),
    }


def _normalizer_arguments(pipeline: Pipeline) -> dict[str, Any]:
    """The steps, and the tables that they and the scanners use. Raises Unsupported."""
    classes = character_classes()
    if pipeline.scanner == "kimi":
        if pipeline.refinements:
            raise Unsupported("split steps after Kimi's pattern, which has classes of its own, are not accelerated")
        classes = classes_with_han()
    steps = pipeline.normalizer if isinstance(pipeline.normalizer, tuple) else ()
    form_pages, form_cells = form_table(steps)
    return {
        "class_pages": classes.pages.tobytes(),
        "class_cells": classes.cells.tobytes(),
        "compose_pairs": classes.compose_pairs.astype("<u4").tobytes(),
        "normalizer": native_steps(steps),
        "form_pages": form_pages,
        "form_cells": form_cells,
    }


def _space_signs(pipeline: Pipeline) -> tuple[bool, bool, str] | None:
    if isinstance(pipeline.normalizer, SpaceNormalizer):
        return True, pipeline.normalizer.prepends, pipeline.metaspace or "never"
    return None if pipeline.metaspace is None else (False, False, pipeline.metaspace)


def _word_piece_arguments(pipeline: Pipeline, model: WordPieceModel) -> dict[str, Any]:
    """Words are normalized one by one, unless added tokens are searched in the whole normalized text."""
    options = pipeline.normalizer if isinstance(pipeline.normalizer, BertOptions) else None
    characters = word_characters(options, pipeline.scanner)
    normalizes_text = options is not None and any(token.normalized for token in pipeline.added_tokens)
    plain = word_characters(None, pipeline.scanner) if normalizes_text else characters
    return {
        "vocabulary": model.vocabulary,
        "unknown_id": model.unknown_id,
        "continuing_prefix": model.continuing_prefix,
        "max_characters": model.max_characters,
        "characters": plain.as_bytes(),
        "text_characters": characters.as_bytes() if normalizes_text else None,
        "order": options.reorder().normalize_str if options is not None and options.strips_accents() else None,
        "added_tokens": _added_tokens(pipeline),
    }


def _unigram_arguments(pipeline: Pipeline, model: UnigramModel) -> dict[str, Any]:
    assert pipeline.metaspace is not None
    return {
        "names": [name for name, _ in model.pieces],
        "scores": [score for _, score in model.pieces],
        "unknown_id": model.unknown_id,
        "byte_fallback": model.byte_fallback,
        "scanner": pipeline.scanner,
        "white_space": sets.white_space(),
        "prepend_scheme": pipeline.metaspace,
        **_normalizer_arguments(pipeline),
        "added_tokens": _added_tokens(pipeline),
    }


def _added_tokens(pipeline: Pipeline) -> list[tuple[Any, ...]]:
    """Tokens found in the normalized text are passed in normalized form; the core writes spaces as spaces."""
    if not isinstance(pipeline.normalizer, SpaceNormalizer):
        return list(pipeline.added_tokens)
    return [t._replace(content=t.content.replace("\u2581", " ")) if t.normalized else t for t in pipeline.added_tokens]
