"""The native core of a Pipeline."""

from __future__ import annotations

import importlib.util
from typing import Any

from ..pipeline import Pipeline
from ..pipeline.component_state import Unsupported
from .core_values import CoreValues, describe


def import_core() -> Any:
    """The extension module. Raises Unsupported."""
    try:
        from ..native import _core
    except ImportError as error:
        if importlib.util.find_spec("lopt_plugin.native._core") is None:
            raise Unsupported("installed without the native core (LOPT_PURE)") from error
        raise Unsupported(f"the native core is not installed: {error}") from error
    return _core


def build_core(pipeline: Pipeline) -> Any:
    """A new core, built in some tenths of a second. Raises Unsupported."""
    values = CoreValues()
    try:
        describe(values, pipeline)
        return core_of(values)
    except ValueError as error:
        raise Unsupported(str(error)) from error


def core_of(values: CoreValues) -> Any:
    """The core that these values describe. Raises ValueError, with the reason, for what it cannot do."""
    _core = import_core()
    types = {"byte pair": _core.Core, "unigram": _core.UnigramCore, "word piece": _core.WordPieceCore}
    return types[values.kind](values.values)
