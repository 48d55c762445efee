"""The steps of a normalizer as the native core takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tokenizers import Tokenizer, models, normalizers

from ..character_classes import normalizers as sets
from ..pipeline.normalizer_steps import (
    ByReference,
    MapCharacters,
    NormalizationForm,
    NormalizerStep,
    Prepend,
    ReplaceRuns,
    ReplaceText,
    Strip,
)


def native_steps(steps: tuple[NormalizerStep, ...]) -> list[tuple[Any, ...]]:
    """The argument `normalizer` of the native core, see `_core.pyi`."""
    return [_native_step(step) for step in steps]


def form_table(steps: tuple[NormalizerStep, ...]) -> tuple[bytes, bytes]:
    """The arguments `form_pages` and `form_cells`; empty where no step needs them."""
    if all(not isinstance(step, NormalizationForm) or step.form == "NFC" for step in steps):
        return b"", b""
    table = sets.load()
    return table.pages.tobytes(), table.cells.tobytes()


def _native_step(step: NormalizerStep) -> tuple[Any, ...]:
    if isinstance(step, NormalizationForm):
        return "form", step.form, getattr(normalizers, step.form)().normalize_str, _alignment(step)
    if isinstance(step, MapCharacters):
        return "characters", list(sets.single_characters(step.kind))
    if isinstance(step, Strip):
        return "strip", sets.white_space(), step.left, step.right
    if isinstance(step, Prepend):
        return "prepend", step.text
    if isinstance(step, ReplaceText):
        return "replace", step.text, step.content
    if isinstance(step, ReplaceRuns):
        return "replace_runs", sets.blanks() if step.of == "blanks" else step.of, step.least, step.each, step.content
    return "reference", _component(step).normalize_str


def _alignment(step: NormalizationForm) -> Callable[[str], list[tuple[int, int]]]:
    """For a text, the characters of it that each character of its normalized form came from, as the oracle has it."""
    # A model that knows nothing: every character is a token, and tokens have offsets.
    by_character = Tokenizer(models.BPE({"unknown": 0}, [], unk_token="unknown", fuse_unk=False, cache_capacity=0))
    by_character.normalizer = getattr(normalizers, step.form)()

    def align(text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = by_character.encode(text).offsets
        return offsets

    return align


def _component(step: ByReference) -> Any:
    """The reference's own normalizer, from its JSON."""
    tokenizer = json.loads(Tokenizer(models.BPE()).to_str())
    return Tokenizer.from_str(json.dumps({**tokenizer, "normalizer": json.loads(step.state)})).normalizer
