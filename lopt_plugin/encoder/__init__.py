"""Text to ids: the Encoder, its choice of a route, and its measurements, counters and verification."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    # Pickles made by version 0.1 name them here. Imported late, as engines import this package in every process.
    if name in ("Encoder", "_restore"):
        from . import encoder

        return getattr(encoder, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
