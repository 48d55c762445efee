"""Tells whether a `tokenizers.Tokenizer` still has the model that it had.

`backend.model` makes a new Python object at each access, so `is` says nothing. All objects of one model hold the same
pointer (pyo3 keeps it behind the object's header, tokenizers' PyModel is one `Arc`). Where that word stands is found by
trying, once a process; where the trial does not come out, nothing is told, as with another Python than CPython.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import BPE

_WORD = ctypes.sizeof(ctypes.c_size_t)


class ModelIdentity:
    """The model that was seen last; it is held, so that no other one can get its address."""

    __slots__ = ("_offset", "_seen", "_word_of")

    def __init__(self, model: Any) -> None:
        offset = _offset_of_pointer()
        self._word_of = _word_reader()
        self._offset = offset if offset is not None and offset + _WORD <= type(model).__basicsize__ else None
        word = 0 if self._offset is None else self._word_of(model, self._offset)
        # Together, so that a thread never sees the word of a model that is not held.
        self._seen = (model, word)

    def is_another(self, model: Any) -> bool:
        """Whether `model`, what `backend.model` gives now, is another one than at the last call; keeps it."""
        offset, (held, known) = self._offset, self._seen
        # A model of another class may be shorter; the watch compares classes itself.
        if offset is None or type(model) is not type(held):
            return False
        word = self._word_of(model, offset)
        if word == known:
            return False
        self._seen = (model, word)
        return True


@functools.cache
def _word_reader() -> Callable[[Any, int], int]:
    """The word at a place inside an object: by the native core, or else by ctypes, which takes longer."""
    try:
        from .native._core import word_of
    except ImportError:  # why there is none, is told where the core is asked for
        return lambda thing, offset: ctypes.c_size_t.from_address(id(thing) + offset).value
    return word_of


@functools.cache
def _offset_of_pointer() -> int | None:
    if sys.implementation.name != "cpython":
        return None
    word_of = _word_reader()
    one, other = Tokenizer(BPE()), Tokenizer(BPE())
    for offset in range(object.__basicsize__, BPE.__basicsize__ - _WORD + 1, _WORD):
        of_one, of_other = word_of(one.model, offset), word_of(other.model, offset)
        if of_one == of_other or of_one != word_of(one.model, offset):
            continue
        replaced = Tokenizer(BPE())
        before = word_of(replaced.model, offset)
        replaced.model = other.model
        if before != of_other and word_of(replaced.model, offset) == of_other:
            return offset
    return None
