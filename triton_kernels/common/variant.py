"""A kernel with everything that its compilation depends on, except for the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Variant:
    """kernel: a function of `triton.jit`.

    types: Triton's names of the types of its arguments; those of other arguments are ignored.
    constants: its compile-time arguments.
    """

    kernel: Any
    types: dict[str, str]
    constants: dict[str, Any]
    warps: int = 4
