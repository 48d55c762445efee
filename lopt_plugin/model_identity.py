"""Tells whether a `tokenizers.Tokenizer` still has the model that it had.

`backend.model` makes a new Python object at each access, so `is` says nothing. All objects of one model hold the same
pointer (pyo3 keeps it behind the object's header, tokenizers' PyModel is one `Arc`). Where that word stands is found by
trying, once a process; where the trial does not come out, nothing is told, as with another Python than CPython.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import BPE

_WORD = ctypes.sizeof(ctypes.c_size_t)
_word_at = ctypes.c_size_t.from_address


class ModelIdentity:
    """The model that was seen last; it is held, so that no other one can get its address."""

    __slots__ = ("_offset", "_seen")

    def __init__(self, model: Any) -> None:
        offset = _offset_of_pointer()
        self._offset = offset if offset is not None and offset + _WORD <= type(model).__basicsize__ else None
        word = 0 if self._offset is None else _word_at(id(model) + self._offset).value
        # Together, so that a thread never sees the word of a model that is not held.
        self._seen = (model, word)

    def is_another(self, model: Any) -> bool:
        """Whether `model`, what `backend.model` gives now, is another one than at the last call; keeps it."""
        offset, (held, known) = self._offset, self._seen
        # A model of another class may be shorter; the watch compares classes itself.
        if offset is None or type(model) is not type(held):
            return False
        word = _word_at(id(model) + offset).value
        if word == known:
            return False
        self._seen = (model, word)
        return True


@functools.cache
def _offset_of_pointer() -> int | None:
    if sys.implementation.name != "cpython":
        return None
    one, other = Tokenizer(BPE()), Tokenizer(BPE())
    for offset in range(object.__basicsize__, BPE.__basicsize__ - _WORD + 1, _WORD):
        of_one = _word_of(one, offset)
        of_other = _word_of(other, offset)
        if of_one == of_other or of_one != _word_of(one, offset):
            continue
        replaced = Tokenizer(BPE())
        before = _word_of(replaced, offset)
        replaced.model = other.model
        if before != of_other and _word_of(replaced, offset) == of_other:
            return offset
    return None


def _word_of(backend: Tokenizer, offset: int) -> int:
    model = backend.model
    return _word_at(id(model) + offset).value
