"""Hugging Face normalizers: none, or NFC."""

from __future__ import annotations

from typing import Literal

from .component_state import State, flattened, unknown_options
from .components import Unsupported


def read_normalizer(state: State | None) -> Literal["nfc"] | Unsupported | None:
    """None where the text stays as it is. A second NFC in a row would change nothing, but nobody writes it."""
    steps = list(flattened(state, "normalizers")) if state is not None else []
    for step in steps:
        if step.get("type") != "NFC":
            return Unsupported(f"normalizer {step.get('type')} is not accelerated yet")
        if unsupported := unknown_options(step, set(), "normalizer"):
            return unsupported
    if len(steps) > 1:
        return Unsupported("normalizer NFC stands twice in a Sequence")
    return "nfc" if steps else None
