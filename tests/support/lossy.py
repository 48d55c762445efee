"""The published ways that lose something, from benchmarks/."""

from __future__ import annotations

import sys
from pathlib import Path

# Last, so that what is installed comes before the checkout.
sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.papers import lossy_rivals as rivals

__all__ = ["rivals"]
