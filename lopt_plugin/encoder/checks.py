"""Validates arguments: each value in the form that the core takes, or a TypeError that names the argument."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

# Beyond it the core's numbers end; no text has as many ids.
_LARGEST = 1 << 62


def plain(text: str) -> str:
    """A text as exactly `str`: subclasses may override what the core reads."""
    return str.__str__(text) if type(text) is not str else text


def a_text(text: Any, name: str = "text") -> str:
    """The text of an argument, as exactly `str`."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str, not {type(text).__name__}")
    return plain(text)


def texts_of(texts: Any) -> list[str]:
    """The texts of the argument `texts`, a new list."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"texts must be a sequence of str, not {type(texts).__name__}")
    found = list(texts)
    for number, text in enumerate(found):
        if type(text) is not str:
            found[number] = a_text(text, f"texts[{number}]")
    return found


def ids_of(ids: Any) -> list[Any]:
    """The ids of an argument as a list. Its elements are not checked."""
    found = ids.tolist() if hasattr(ids, "tolist") else ids
    # An array without dimensions is iterable by its type, and its `tolist` returns a number.
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise TypeError(f"ids must be a sequence of int, not {type(ids).__name__}")
    return found if type(found) is list and found is not ids else list(found)


def a_bool(flag: Any, name: str) -> bool:
    """The flag of an argument."""
    if not isinstance(flag, (bool, np.bool_)):
        raise TypeError(f"{name} must be a bool, not {type(flag).__name__}")
    return bool(flag)


def an_int(number: Any, name: str) -> int:
    """The integer of an argument, capped at the largest possible number of ids."""
    try:
        found = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} must be an int, not {type(number).__name__}") from None
    return max(-_LARGEST, min(found, _LARGEST))


def encodable(text: Any) -> None:
    """Raises TypeError, as the reference does, for anything that is not a text it would encode."""
    if not a_text(text).isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TypeError(f"the text holds a lone surrogate: {error}") from error
