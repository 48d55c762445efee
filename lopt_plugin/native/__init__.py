"""The native core: C++20 sources, and `_core`, the extension module built from them."""

from __future__ import annotations


def build_description() -> str | None:
    """The core's compiler, and the processor and vectors it uses; None if it cannot be imported."""
    try:
        from . import _core
    except ImportError:
        return None
    return _core.build_description()
