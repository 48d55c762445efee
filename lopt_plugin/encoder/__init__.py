"""Text to ids: the Encoder, the routes it chooses from, and what it measures, counts and verifies."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    # Pickles made by version 0.1 name them here. Imported late, as engines import this package in every process.
    if name in ("Encoder", "_restore"):
        from . import encoder

        return getattr(encoder, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
