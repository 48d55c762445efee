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

import operator
import weakref
from collections.abc import Callable
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import BPE, WordPiece

from .model_identity import ModelIdentity
from .pipeline.models import BYTE_PAIR_OPTIONS, WORD_PIECE_OPTIONS

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
    def of(cls, backend: Tokenizer) -> BackendWatch:
        reference = backend.__dict__.get(_WATCH)
        watch = reference() if reference is not None else None
        return cls(backend) if watch is None else watch

    def fingerprint(self) -> Fingerprint:
        """Equal to an earlier one as long as nothing that decides about ids has changed.

        Raises whatever a custom component raises that cannot be serialized.
        """
        backend = self.backend
        normalizer = backend.normalizer
        pre_tokenizer = backend.pre_tokenizer
        post_processor = backend.post_processor
        model = backend.model
        if self._model.is_another(model):
            self.model_version += 1
        return (
            self.added_tokens_version,
            self.model_version,
            None if normalizer is None else normalizer.__getstate__(),
            None if pre_tokenizer is None else pre_tokenizer.__getstate__(),
            None if post_processor is None else post_processor.__getstate__(),
            backend.get_vocab_size(False),
            type(model),
            *(_options(model)),
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


_BPE_OPTIONS = operator.attrgetter(*BYTE_PAIR_OPTIONS)
_WORD_PIECE_OPTIONS = operator.attrgetter(*WORD_PIECE_OPTIONS)


def _options(model: Any) -> tuple[Any, ...]:
    # Only these models reach the native route, so only their options matter; others are told apart by their type.
    if isinstance(model, BPE):
        return _BPE_OPTIONS(model)
    if isinstance(model, WordPiece):
        return _WORD_PIECE_OPTIONS(model)
    return ()


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
