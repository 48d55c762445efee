"""Notices that a `tokenizers.Tokenizer` was changed after it was read.

Whoever holds the tokenizer may change it at any time: transformers itself does (`add_special_tokens`, `add_bos_token`),
engines do, users reach for `backend_tokenizer`. So every call asks, and the asking has to cost about a microsecond.

Noticed, whoever does it and however the object was reached:
  - added tokens, new ones and ones whose flags change (the four methods that change them or train are watched);
  - the normalizer, pre-tokenizer and post-processor, replaced or changed in place (their serialized state is compared);
  - another model (see model_identity), the model's options (dropout, unknown token, prefixes and suffixes, longest
    word ...) and its vocabulary size.
Not noticed: a method of the class called around the instance (`Tokenizer.add_tokens(backend, ...)`), which nothing in
transformers does.
Truncation, padding and `encode_special_tokens` are state of a call, not of the tokenizer, and are not watched.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import operator
import sys
import weakref
from collections.abc import Callable
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import BPE, WordPiece

from ..pipeline.models import BYTE_PAIR_OPTIONS, WORD_PIECE_OPTIONS

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
        from ..native._core import word_of
    except ImportError:  # native_core says why there is none
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


_CHANGE_ADDED_TOKENS = ("add_tokens", "add_special_tokens")
_CHANGE_MODEL = ("train", "train_from_iterator")
_WATCH = "_lopt_watch"

# What the first parts of a fingerprint are; the versions count the changes seen by one watch.
Fingerprint = tuple[Any, ...]
ADDED_TOKENS_VERSION, MODEL_VERSION, NORMALIZER, PRE_TOKENIZER, POST_PROCESSOR = range(5)


def differ_only_in(part: int, one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints of one watch are equal but for one part."""
    return one[:part] == other[:part] and one[part + 1 :] == other[part + 1 :]


def same_state(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether fingerprints of two watches say that the backends are in the same state, added tokens excepted."""
    return one[NORMALIZER:] == other[NORMALIZER:]


class BackendWatch:
    """One watch for each backend; `BackendWatch.of` finds or makes it.

    The methods to be noticed are shadowed in the backend's instance dictionary. The shadows reach the backend through
    the watch, weakly: before tokenizers 0.23 it takes no part in garbage collection, and a cycle would leak it.
    """

    def __init__(self, backend: Tokenizer) -> None:
        self.backend = backend
        self.added_tokens_version = 0
        self.model_version = 0
        self._model = ModelIdentity(backend.model)
        setattr(backend, _WATCH, weakref.ref(self))
        for name in _CHANGE_ADDED_TOKENS + _CHANGE_MODEL:
            setattr(backend, name, _shadow(weakref.ref(self), name))

    @classmethod
    def of(cls, backend: Tokenizer) -> BackendWatch | None:
        """The watch of a backend; None where that takes no attributes, so that nothing can be noticed."""
        if not hasattr(backend, "__dict__"):
            return None
        reference = backend.__dict__.get(_WATCH)
        watch = reference() if reference is not None else None
        return cls(backend) if watch is None else watch

    def fingerprint(self) -> Fingerprint:
        """Equal to an earlier one as long as nothing that decides about ids has changed.

        Raises whatever a custom component raises that cannot be serialized.
        """
        # Every call of a tokenizer comes here: each function call in it counts.
        backend = self.backend
        normalizer = backend.normalizer
        pre_tokenizer = backend.pre_tokenizer
        post_processor = backend.post_processor
        model = backend.model
        if self._model.is_another(model):
            self.model_version += 1
        kind = type(model)
        options = _OPTIONS.get(kind)
        return (
            self.added_tokens_version,
            self.model_version,
            None if normalizer is None else normalizer.__getstate__(),
            None if pre_tokenizer is None else pre_tokenizer.__getstate__(),
            None if post_processor is None else post_processor.__getstate__(),
            backend.get_vocab_size(False),
            kind,
            None if options is None else options(model),
        )

    def added_tokens(self) -> tuple[tuple[int, str, bool, bool, bool, bool, bool], ...]:
        """Every added token with its flags."""
        return tuple(
            (i, t.content, t.single_word, t.lstrip, t.rstrip, t.normalized, t.special)
            for i, t in sorted(self.backend.get_added_tokens_decoder().items())
        )

    # The names are bound here, because the module's are gone when the interpreter ends.
    def __del__(self, names: tuple[str, ...] = (*_CHANGE_ADDED_TOKENS, *_CHANGE_MODEL, _WATCH)) -> None:
        for name in names:
            self.backend.__dict__.pop(name, None)


# Only these models reach the native route, so only their options matter; others are compared by type alone.
_OPTION_NAMES: dict[type, tuple[str, ...]] = {BPE: BYTE_PAIR_OPTIONS, WordPiece: WORD_PIECE_OPTIONS}
_OPTIONS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    kind: operator.attrgetter(*names) for kind, names in _OPTION_NAMES.items()
}


def with_options(model: Any, fingerprint: Fingerprint) -> Any:
    """The model, or a copy of it, with the options that it had at the time of a fingerprint."""
    kind, options = fingerprint[-2:]
    if options is None or _OPTIONS[kind](model) == options:
        return model
    model = copy.deepcopy(model)
    for name, option in zip(_OPTION_NAMES[kind], options, strict=True):
        setattr(model, name, option)
    return model


def _shadow(watch: weakref.ref[BackendWatch], name: str) -> Callable[..., Any]:
    method = getattr(Tokenizer, name)

    def changing(*args: Any, **kwargs: Any) -> Any:
        alive = watch()
        if alive is None:
            raise ReferenceError(
                f"lopt_plugin no longer watches the tokenizer of this {name}; look the method up again"
            )
        try:
            return method(alive.backend, *args, **kwargs)
        finally:
            if name in _CHANGE_MODEL:
                alive.model_version += 1
            alive.added_tokens_version += 1

    changing.__name__ = name
    changing.__doc__ = method.__doc__
    return changing
