"""A tokenizer that is left to Hugging Face."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unsupported:
    """Why a tokenizer is left to Hugging Face: a sentence that names the component. A value, not an exception."""

    reason: str
