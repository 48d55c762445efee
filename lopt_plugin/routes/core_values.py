"""What a native core is made of, as a sequence of values that native/compiled/read_core.hpp reads in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


class CoreValues:
    """The values as Python objects, as PythonValues in native/python/python_values.hpp reads them."""

    def __init__(self) -> None:
        self.values: list[Any] = []

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
        """A dict; or the JSON of one, and the number of entries that it must have."""
        self.add(vocabulary)

    def function(self, function: Callable[[str], str] | None) -> None:
        """A function of the reference."""
        self.add(function)

    def form(self, name: str, normalize: Callable[[str], str], align: Callable[..., Any] | None = None) -> None:
        """A normalization form, see `describe`."""
        self.add(name, normalize, align)


def describe(out: CoreValues, kind: str, given: dict[str, Any]) -> None:
    """Writes the values of a core of that kind: "byte pair", "unigram" or "word piece". See the functions below.

    Of all kinds, given["added_tokens"]: (content, id, single_word, lstrip, rstrip, normalized, special); a normalized
    token's content arrives normalized.
    """
    {"byte pair": _byte_pair, "unigram": _unigram, "word piece": _word_piece}[kind](out, given)
    out.rows(given["added_tokens"])


def _byte_pair(out: CoreValues, given: dict[str, Any]) -> None:
    """Entries are in the byte-level alphabet, or of characters, with ids below 2**20 - 1.

    merges: the JSON of a list of "left right" or [left, right], by rank.
    dropped_bytes: the bytes of UTF-8 that may lack an entry; they are taken out of a pre-token before BPE.
    end_of_word_suffix: the suffix that the model adds to the last character of a word; "" for none.
    unknown_characters: (unk_token, fuse_unk, byte_fallback) of a model over characters, whose entries are plain text
        with U+2581 for the space; None for a byte-level model.
    refinements: (matcher, behavior, invert, after_byte_level).
    byte_classes: 256 bytes, for the stand-in of each byte: 1 numeric, 2 punctuation.
    space_signs: (in_normalizer, normalizer_prepends, prepend_scheme): the text's spaces and U+2581 are one character,
        from the normalizer on or only after the added tokens; see pipeline.SpaceNormalizer and Pipeline.metaspace.
        Contents of normalized tokens then have spaces for U+2581, if the normalizer makes them one.
    """
    out.vocabulary(given["vocabulary"])
    out.add(*(given[name] for name in ("merges", "ignore_merges", "add_prefix_space", "dropped_bytes")))
    out.add(given["end_of_word_suffix"])
    unknown = given["unknown_characters"]
    out.add(unknown is not None)
    if unknown is not None:
        token, fused, byte_fallback = unknown
        out.rows([] if token is None else [[token]])
        out.add(fused, byte_fallback)
    _normalizer(out, given)
    out.add(given["scanner"])
    out.rows(given["refinements"])
    out.fixed(given["byte_classes"])
    out.rows([] if given["space_signs"] is None else [given["space_signs"]])


def _unigram(out: CoreValues, given: dict[str, Any]) -> None:
    """The names and scores of the pieces, by id.

    unknown_id: of unknown characters, one for a run of them.
    byte_fallback: unknown characters become the pieces of their bytes, where there are such.
    scanner: "whitespace_split", words between `white_space`, each of which U+2581 begins; "metaspace", where each space
        begins a word; or "whole", where nothing does.
    prepend_scheme: of Metaspace.
    """
    out.add(len(given["names"]), *given["names"])
    out.add(np.array(given["scores"], "<f8").tobytes(), given["unknown_id"], given["byte_fallback"])
    _normalizer(out, given)
    out.add(given["scanner"], given["white_space"], given["prepend_scheme"])


def _word_piece(out: CoreValues, given: dict[str, Any]) -> None:
    """The entries have ids below 2**20 - 1.

    unknown_id: of a word that cannot be matched, or has more than `max_characters` characters when normalized.
    continuing_prefix: the prefix of entries that match after a word's first piece.
    characters: `WordCharacters.as_bytes()` of the text that is cut into words: the raw text, which is then normalized
        word by word, or, with `text_characters`, the normalized text.
    text_characters: those of the normalizer, for added tokens that are looked for in all the normalized text; or None.
    order: decomposes, orders and strips a run of characters, as the normalizer does before it lowers case; called for
        the few runs in which that is no matter of single characters. None where accents stay.
    """
    out.vocabulary(given["vocabulary"])
    out.add(given["unknown_id"], given["continuing_prefix"], given["max_characters"])
    out.add(*given["characters"])
    out.rows([] if given["text_characters"] is None else [given["text_characters"]])
    out.function(given["order"])


def _normalizer(out: CoreValues, given: dict[str, Any]) -> None:
    """The tables that steps use, and the steps.

    class_pages, class_cells, compose_pairs: the tables of `character_classes`, little endian.
    form_pages, form_cells: the table of `character_classes.normalizers`; needed for all forms but NFC, else empty.
    normalizer: steps in order, each a tuple:
        ("form", "NFC", function, align), or another form's name; the function normalizes, and is called for short texts
            only; the optional align returns, for each character of a text's normalized form, the characters it came
            from; without it, offsets of texts that may change raise OffsetsUnknownError;
        ("characters", [(code point, replacement), ...]), all characters that the step changes;
        ("replace", text, by);
        ("replace_runs", characters, least, each, by): runs of at least that many of these characters, or, with each,
            every single one;
        ("strip", white space, left, right);
        ("prepend", text);
        ("precompiled", character map, characters that are in one grapheme cluster with one before them, with one after
            them, function): the function is asked about the few places where clusters may matter;
        ("reference", function): the function is asked about whole stretches.
    """
    out.add(given["class_pages"], given["class_cells"], given["compose_pairs"])
    out.rows([[given["form_pages"], given["form_cells"]]] if given["form_cells"] else [])
    out.add(len(given["normalizer"]))
    for kind, *values in given["normalizer"]:
        out.add(kind)
        if kind == "form":
            out.form(*values)
        elif kind == "characters":
            out.rows(values[0])
        else:
            for value in values:
                out.function(value) if callable(value) else out.add(value)
