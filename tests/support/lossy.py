"""The published ways that lose something, from benchmarks/."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "papers" / "lossy_rivals.py"


def _load() -> ModuleType:
    specification = importlib.util.spec_from_file_location("lossy_rivals", _PATH)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Dataclasses look their module up.
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


rivals = _load()
