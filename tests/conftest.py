"""Fixtures that many tests share, and what the tier that runs leaves out; see CONTRIBUTING.md."""

from __future__ import annotations

import ctypes
import functools
import gc
import math
import os
import sys
import zlib
from pathlib import Path

import corpus
import pytest
import tier
from hypothesis import HealthCheck, settings
from tokenizers import Tokenizer

# On two shared cores a slow example is no failure. The quick tier tries the same examples every time.
SLOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=25, derandomize=True, **SLOW)
settings.register_profile("deep", max_examples=300, **SLOW)
settings.load_profile(tier.NAME)

SHARE = 3

# The deep tier gives each large tokenizer a process of its own: its name, or "none" for all tests that need none.
LARGE = os.environ.get("LOPT_LARGE_TOKENIZER")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked `deep` in the quick tier, and in a part of the deep tier what other parts run."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.split("[")[0], []).append(item)
    if tier.DEEP:
        kept = {item for item in items if _belongs_to_part(item)}
    else:
        in_tier = [item for item in items if item.get_closest_marker("deep") is None]
        kept = {item for name, some in functions.items() for item in _sample(name, some)}.intersection(in_tier)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of a file, gives back the memory of the tokenizers that its helpers keep."""
    if nextitem is None or nextitem.path != item.path:
        here = Path(__file__).parent
        for module in list(sys.modules.values()):
            if Path(getattr(module, "__file__", None) or "/").is_relative_to(here):
                for value in vars(module).values():
                    if isinstance(value, functools._lru_cache_wrapper):
                        value.cache_clear()
        gc.collect()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)


def _belongs_to_part(item: pytest.Item) -> bool:
    if LARGE is None:
        return True
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    large = {value for value in values if isinstance(value, str)} & corpus.large_tokenizer_names()
    return LARGE in (large or {"none"})


def _sample(name: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """What the quick tier runs of a test's combinations of parameters: of many one in SHARE, the same each time.

    A list of cases runs as a whole; but what is repeated for several tokenizers, or a grid of parameters, is sampled.
    By the sum of the parameters' places, so that each value of one parameter comes with some value of the others; and
    by the test's name, so that tests with the same parameters take different ones.
    """
    if len(items) <= 2 * SHARE or items[0].get_closest_marker("every_parameter") is not None:
        return items
    values = [item.callspec.params for item in items]
    places = [_places([params[name] for params in values]) for name in values[0]]
    is_grid = len(places) > 1 and math.prod(len({*column}) for column in places) == len(items)
    tokenizer_names = {*corpus.tokenizer_names()}
    if not is_grid and not any(value in tokenizer_names for value in values[0].values() if isinstance(value, str)):
        return items
    sums = map(sum, zip(*places, strict=True))
    first = zlib.crc32(name.encode())
    return [item for item, total in zip(items, sums, strict=True) if (total + first) % SHARE == 0] or items[::SHARE]


def _places(values: list[object]) -> list[int]:
    """Which of the different values each one is: 0, 1, ... in the order in which they come first."""
    seen: dict[int, int] = {}
    return [seen.setdefault(id(value), len(seen)) for value in values]


@pytest.fixture(scope="session")
def small_tokenizers() -> dict[str, Tokenizer]:
    """The tokenizers of tests/data by name; not to be changed."""
    names = [name for name in corpus.tokenizer_names() if name.startswith("tiny_") or name == "roberta_base"]
    return {name: corpus.load_tokenizer(name) for name in names}
