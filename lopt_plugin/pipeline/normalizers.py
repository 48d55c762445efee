"""Hugging Face normalizers: none, NFC, or the one that spells blanks as U+2581."""

from __future__ import annotations

from typing import Literal

from .component_state import State, flattened, unknown_options
from .components import BlankNormalizer, Unsupported

_BLANK_SIGN = "\u2581"
_PREPEND = {"type": "Prepend", "prepend": _BLANK_SIGN}
_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": _BLANK_SIGN}


def read_normalizer(state: State | None) -> Literal["nfc"] | BlankNormalizer | Unsupported | None:
    """None where the text stays as it is. A second NFC in a row would change nothing, but nobody writes it."""
    steps = list(flattened(state, "normalizers")) if state is not None else []
    if steps == [_REPLACE]:
        return BlankNormalizer(prepends=False)
    if steps in ([_PREPEND, _REPLACE], [_REPLACE, _PREPEND]):  # what is prepended is no blank
        return BlankNormalizer(prepends=True)
    for step in steps:
        if step.get("type") != "NFC":
            return Unsupported(f"normalizer {step.get('type')} is not accelerated yet")
        if unsupported := unknown_options(step, set(), "normalizer"):
            return unsupported
    if len(steps) > 1:
        return Unsupported("normalizer NFC stands twice in a Sequence")
    return "nfc" if steps else None
