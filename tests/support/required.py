"""Tests that need what is not installed everywhere: skipped there, unless an environment variable asks for them."""

from __future__ import annotations

import importlib.util
import os
from importlib import import_module
from typing import Any

import pytest


def skip_without(module: str, variable: str) -> None:
    """Skips, at a module's top level too, where the module is missing; fails instead where the variable is set."""
    if importlib.util.find_spec(module) is not None:
        return
    if os.environ.get(variable):
        pytest.fail(f"{variable} is set, but {module} is not installed")
    pytest.skip(f"{module} is not installed", allow_module_level=True)


def module_or_skip(module: str, variable: str) -> Any:
    """The module; as `skip_without` where it is missing. One that is there but broken is an error, no skip."""
    skip_without(module, variable)
    return import_module(module)
