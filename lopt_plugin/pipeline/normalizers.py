"""Hugging Face normalizers: none, NFC, or BertNormalizer."""

from __future__ import annotations

from typing import Literal

from .component_state import State, flattened, unknown_options
from .components import BertOptions, Unsupported

_BERT_OPTIONS = {"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"}


def read_normalizer(state: State | None) -> Literal["nfc"] | BertOptions | Unsupported | None:
    """None where the text stays as it is. A second NFC in a row would change nothing, but nobody writes it."""
    steps = list(flattened(state, "normalizers")) if state is not None else []
    if len(steps) == 1 and steps[0].get("type") == "BertNormalizer":
        return _read_bert(steps[0])
    for step in steps:
        if step.get("type") != "NFC":
            return Unsupported(f"normalizer {step.get('type')} is not accelerated yet")
        if unsupported := unknown_options(step, set(), "normalizer"):
            return unsupported
    if len(steps) > 1:
        return Unsupported("normalizer NFC stands twice in a Sequence")
    return "nfc" if steps else None


def _read_bert(step: State) -> BertOptions | Unsupported:
    if unsupported := unknown_options(step, _BERT_OPTIONS, "normalizer"):
        return unsupported
    return BertOptions(**{option: step[option] for option in _BERT_OPTIONS})
