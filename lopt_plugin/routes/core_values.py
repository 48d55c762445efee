"""What the native core of a Pipeline is made of, as a sequence of values.

native/compiled/read_core.hpp reads them in the same order.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
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
from ..unicode_tables.table import CharacterClasses


class CoreValues:
    """The values as Python objects, as PythonValues in native/python/python_values.hpp reads them."""

    def __init__(self) -> None:
        self.kind = ""
        self.values: list[Any] = []

    def begin(self, kind: str) -> None:
        """The kind of core: "byte pair", "unigram" or "word piece"."""
        self.kind = kind

    def add(self, *values: Any) -> None:
        """Numbers and flags; texts and bytes."""
        self.values += values

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """The number of rows, followed by their values."""
        given = list(rows)
        self.add(len(given))
        for row in given:
            self.add(*row)

    def fixed(self, data: bytes) -> None:
        """Bytes whose number is known."""
        self.add(data)

    def vocabulary(self, vocabulary: Any) -> None:
        """A dict; of Entries, the JSON and the number of entries that it must have."""
        self.add((vocabulary.text, vocabulary.size) if isinstance(vocabulary, Entries) else vocabulary)

    def function(self, function: Callable[[str], str] | None) -> None:
        """A function of the reference."""
        self.add(function)

    def form(self, name: str, normalize: Callable[[str], str], align: Callable[..., Any] | None = None) -> None:
        """A normalization form, see `native_steps`."""
        self.add(name, normalize, align)


def describe(out: CoreValues, pipeline: Pipeline) -> None:
    """Writes the values of the pipeline's core. Raises Unsupported."""
    model = pipeline.model
    if isinstance(model, WordPieceModel):
        _word_piece(out, pipeline, model)
    elif isinstance(model, UnigramModel):
        _unigram(out, pipeline, model)
    else:
        _byte_pair(out, pipeline, model)
    out.rows(added_tokens(pipeline))


def _byte_pair(out: CoreValues, pipeline: Pipeline, model: BytePairModel | SentencePieceModel) -> None:
    """The values of a model over characters are those of a byte-level one, and what it does with unknown characters."""
    out.begin("byte pair")
    out.vocabulary(model.vocabulary)
    out.add(model.merges.text)
    if isinstance(model, BytePairModel):
        out.add(model.ignore_merges, pipeline.add_prefix_space, model.dropped_bytes, model.end_of_word_suffix, False)
    else:
        out.add(False, pipeline.add_prefix_space, b"", "", True)
        out.rows([] if model.unk_token is None else [[model.unk_token]])
        out.add(model.fuse_unk, model.byte_fallback)
    _normalizer(out, pipeline)
    out.add(pipeline.scanner)
    out.rows((r.matcher, r.behavior, r.invert, r.after_byte_level) for r in pipeline.refinements)
    out.fixed(byte_classes())
    signs = space_signs(pipeline)
    out.rows([] if signs is None else [signs])


def _unigram(out: CoreValues, pipeline: Pipeline, model: UnigramModel) -> None:
    assert pipeline.metaspace is not None
    out.begin("unigram")
    out.add(len(model.pieces), *(name for name, _ in model.pieces))
    out.add(np.array([score for _, score in model.pieces], "<f8").tobytes(), model.unknown_id, model.byte_fallback)
    _normalizer(out, pipeline)
    out.add(pipeline.scanner, sets.white_space(), pipeline.metaspace)


def _word_piece(out: CoreValues, pipeline: Pipeline, model: WordPieceModel) -> None:
    """Words are normalized one by one, unless added tokens are searched in the whole normalized text.

    So the characters are those of the raw text, or else those of the normalized text, followed by the normalizer's. The
    last value decomposes, orders and strips a run of characters, as the normalizer does before it lowers case. It is
    called for the few runs in which that is no matter of single characters.
    """
    out.begin("word piece")
    options = pipeline.normalizer if isinstance(pipeline.normalizer, BertOptions) else None
    characters = word_characters(options, pipeline.scanner)
    normalizes_text = options is not None and any(token.normalized for token in pipeline.added_tokens)
    plain = word_characters(None, pipeline.scanner) if normalizes_text else characters
    out.vocabulary(model.vocabulary)
    out.add(model.unknown_id, model.continuing_prefix, model.max_characters)
    out.add(*plain.as_bytes())
    out.rows([characters.as_bytes()] if normalizes_text else [])
    out.function(options.reorder().normalize_str if options is not None and options.strips_accents() else None)


def _normalizer(out: CoreValues, pipeline: Pipeline) -> None:
    """The steps, after the tables that they and the scanners use. Raises Unsupported."""
    classes = classes_of(pipeline)
    out.add(classes.pages.tobytes(), classes.cells.tobytes(), classes.compose_pairs.astype("<u4").tobytes())
    steps = pipeline.normalizer if isinstance(pipeline.normalizer, tuple) else ()
    form_pages, form_cells = form_table(steps)
    out.rows([[form_pages, form_cells]] if form_cells else [])
    write_steps(out, native_steps(steps))


def classes_of(pipeline: Pipeline) -> CharacterClasses:
    """Those of the pipeline's scanner. Raises Unsupported."""
    if pipeline.scanner != "kimi":
        return character_classes()
    if pipeline.refinements:
        raise Unsupported("split steps after Kimi's pattern, which has classes of its own, are not accelerated")
    return classes_with_han()


def form_table(steps: tuple[kinds.NormalizerStep, ...]) -> tuple[bytes, bytes]:
    """Pages and cells of the classes that all forms but NFC need; empty where no step needs them."""
    if all(not isinstance(step, kinds.NormalizationForm) or step.form == "NFC" for step in steps):
        return b"", b""
    table = normalizer_classes()
    return table.pages.tobytes(), table.cells.tobytes()


def native_steps(steps: tuple[kinds.NormalizerStep, ...]) -> list[tuple[Any, ...]]:
    """The steps of a normalizer, in order, each one of these.

    ("form", "NFC", function, align), or another form's name; the function normalizes, and is called for short texts
        only; the optional align returns, for each character of a text's normalized form, the characters it came from;
        without it, offsets of texts that may change raise OffsetsUnknownError;
    ("characters", [(code point, replacement), ...]), all characters that the step changes;
    ("replace", text, by);
    ("replace_runs", characters, least, each, by): runs of at least that many of these characters, or, with each, every
        single one;
    ("strip", white space, left, right);
    ("prepend", text);
    ("precompiled", character map, characters that are in one grapheme cluster with one before them, with one after
        them, function): the function is asked about the few places where clusters may matter;
    ("reference", function): the function is asked about whole stretches.
    """
    return [_native_step(step) for step in steps]


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


def write_steps(out: CoreValues, steps: list[tuple[Any, ...]]) -> None:
    """Writes what `native_steps` returns."""
    out.add(len(steps))
    for kind, *values in steps:
        out.add(kind)
        if kind == "form":
            out.form(*values)
        elif kind == "characters":
            out.rows(values[0])
        else:
            for value in values:
                out.function(value) if callable(value) else out.add(value)


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


def space_signs(pipeline: Pipeline) -> tuple[bool, bool, str] | None:
    """Of a text whose spaces and U+2581 are one character: whether the normalizer makes them one, or only a step after.

    Then, whether the normalizer prepends one, and what Metaspace prepends.
    """
    if isinstance(pipeline.normalizer, SpaceNormalizer):
        return True, pipeline.normalizer.prepends, pipeline.metaspace or "never"
    return None if pipeline.metaspace is None else (False, False, pipeline.metaspace)


def added_tokens(pipeline: Pipeline) -> list[tuple[Any, ...]]:
    """Tokens found in the normalized text are passed in normalized form; the core writes spaces as spaces."""
    if not isinstance(pipeline.normalizer, SpaceNormalizer):
        return list(pipeline.added_tokens)
    return [t._replace(content=t.content.replace("\u2581", " ")) if t.normalized else t for t in pipeline.added_tokens]
