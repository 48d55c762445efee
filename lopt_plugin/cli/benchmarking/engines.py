"""The engines by name. A module is imported when its engine is used, in the process that measures it."""

from __future__ import annotations

import pkgutil

from .engine import Engine

_HERE = __package__
# The benchmarks add others.
ENGINES = {
    "hf": f"{_HERE}.engine:Hf",
    "lopt": f"{_HERE}.engine:Lopt",
    "tiktoken": f"{_HERE}.peers:Tiktoken",
    "fastokens": f"{_HERE}.peers:Fastokens",
    "gigatoken": f"{_HERE}.peers:Gigatoken",
    "gigatoken_batch": f"{_HERE}.peers:GigatokenBatch",
}


def engine_class(name: str) -> type[Engine]:
    """The engine of that name, or the class "module:Class". Raises ValueError."""
    if name not in ENGINES and ":" not in name:
        raise ValueError(f"unknown engine {name!r}; known are {', '.join(ENGINES)}, and module:Class")
    found: type[Engine] = pkgutil.resolve_name(ENGINES.get(name, name))
    return found
