"""Deterministic hard texts, for a checkout without the shared conformance cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import representatives

COUNT = 200


def _characters(rng: random.Random) -> str:
    return "".join(rng.choices(representatives.characters(), k=rng.randint(0, 200)))


def _snippets(rng: random.Random) -> str:
    return "".join(rng.choices(representatives.SNIPPETS, k=rng.randint(1, 60)))


def _mixed(rng: random.Random) -> str:
    both = [*representatives.SNIPPETS, *rng.sample(representatives.characters(), 20)]
    return "".join(rng.choices(both, k=rng.randint(1, 100)))


def _runs(rng: random.Random) -> str:
    """Runs of one character around the lengths at which windows of 16 and 64 bytes and caches end."""
    few = rng.sample(representatives.characters(), 4)
    return "".join(rng.choice(few) * rng.choice([1, 2, 3, 5, 15, 16, 17, 63, 64, 65, 130]) for _ in range(12))


def _few_letters(rng: random.Random) -> str:
    return "".join(rng.choices("abe \u4e00\u4e01\u7684", weights=[5, 5, 5, 1, 3, 3, 3], k=rng.choice([50, 500, 5000])))


_FAMILIES: dict[str, Callable[[random.Random], str]] = {
    "characters": _characters,
    "snippets": _snippets,
    "mixed": _mixed,
    "runs": _runs,
    "few_letters": _few_letters,
}


def families() -> list[str]:
    return list(_FAMILIES)


def texts(family: str, seed: int = 0) -> Iterator[str]:
    for number in range(COUNT):
        yield _FAMILIES[family](random.Random(f"{family} {seed} {number}"))
