"""How much the tests try: `quick` uses what the repository holds; `deep` adds ../shared, more seeds and examples."""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

NAME = os.environ.get("LOPT_TIER", "quick")
assert NAME in ("quick", "deep"), f"LOPT_TIER is {NAME!r}; it can be quick or deep"
DEEP = NAME == "deep"


def pick(quick: T, deep: T) -> T:
    """The value for the tier that runs."""
    return deep if DEEP else quick
