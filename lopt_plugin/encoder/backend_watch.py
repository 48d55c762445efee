"""Notices that a `tokenizers.Tokenizer` was changed after it was read.

Anyone who holds the tokenizer may change it at any time: transformers itself does (`add_special_tokens`,
`add_bos_token`), engines do, and users access `backend_tokenizer`. So every call checks, and the check must cost next
to nothing.

Every change of a tokenizer goes through a setter or a method of a class of the tokenizers library. These are wrapped,
once per process, to count changes. If the count (`changes.last`) has not moved, no tokenizer was changed. If it has,
the fingerprint of a backend shows whether that backend was:
  - added tokens, new ones and ones whose flags change;
  - the normalizer, pre-tokenizer and post-processor, replaced or changed in place (their serialized state is compared);
  - another model, a trained one, the model's options (dropout, unknown token, prefixes and suffixes, longest word ...)
    and its vocabulary size.
Decoding has its own fingerprint: added tokens, the model and the decoder.
A method that was looked up before the classes were wrapped is not counted, so the fingerprint is also compared now and
then. Not noticed: a manual call of `__setstate__` on a model that a tokenizer already has; copies call it on new ones.
Truncation, padding and `encode_special_tokens` are state of a call, not of the tokenizer, and are not watched.

Wrapped, in tokenizers 0.22 and 0.23: attributes of `Tokenizer` (CHANGES_TOKENIZER below) and all setters,
`__setitem__`, `__delitem__` and `__setstate__` of the classes of its parts. If they cannot be wrapped, Hugging Face
does the work, and that is the reason.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import tokenizers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE, Unigram, WordPiece

from ..pipeline import Unsupported
from ..pipeline.component_state import added_tokens_of
from ..pipeline.models import BYTE_PAIR_OPTIONS, UNIGRAM_OPTIONS, WORD_PIECE_OPTIONS

# What the first parts of a fingerprint are; the versions are numbers of changes seen by one watch.
Fingerprint = tuple[Any, ...]
ADDED_TOKENS_VERSION, MODEL_VERSION, NORMALIZER, PRE_TOKENIZER, POST_PROCESSOR = range(5)

# Attributes that change a tokenizer, and which version of its watch that is; None: its state is compared.
CHANGES_TOKENIZER = {
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
    "model": "model_version",
    "add_tokens": "added_tokens_version",
    "add_special_tokens": "added_tokens_version",
    "train": "model_version",
    "train_from_iterator": "model_version",
    "__setstate__": "model_version",
}
# These may change a model that several tokenizers share.
_CHANGE_EVERY_MODEL = ("train", "train_from_iterator")
CHANGE_COMPONENT = ("__setitem__", "__delitem__", "__setstate__")


class Changes:
    """Counts the changes of all tokenizers of this process.

    `last` is the number of the latest change. Numbers are never reused, so even with concurrent changes `last` never
    returns to an earlier value.
    """

    last = 0
    _next = itertools.count(1).__next__

    def __init__(self) -> None:
        # Native objects that answer without looking at `last`, and are stopped instead. Not a WeakSet, which raises an
        # error if another thread adds to it while it is read: each step on a dict is one that no thread interrupts.
        self._answering: dict[int, weakref.ref[Any]] = {}

    def stop_at_next(self, native: Any) -> None:
        """Has a native object stopped at every change from now on, as long as it exists."""
        key = id(native)
        self._answering[key] = weakref.ref(native, lambda _: self._answering.pop(key, None))

    def count(self) -> int:
        self.last = number = self._next()
        for reference in list(self._answering.values()):
            native = reference()
            if native is not None:
                native.stop()
        return number


changes = Changes()
# By the address of the backend, which the watch holds.
_watches: weakref.WeakValueDictionary[int, BackendWatch] = weakref.WeakValueDictionary()


def differ_only_in(part: int, one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints of one watch are equal except for one part."""
    return one[:part] == other[:part] and one[part + 1 :] == other[part + 1 :]


def same_state(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether fingerprints of two watches show the same state of both backends, except for added tokens."""
    return one[MODEL_VERSION + 1 :] == other[MODEL_VERSION + 1 :]


class BackendWatch:
    """One watch per backend; `BackendWatch.of` finds or makes it, or raises Unsupported."""

    def __init__(self, backend: Tokenizer) -> None:
        self.backend = backend
        self.added_tokens_version = 0
        self.model_version = 0

    @classmethod
    def of(cls, backend: Tokenizer) -> BackendWatch:
        if not watch_classes():
            raise Unsupported(f"the classes of tokenizers {tokenizers.__version__} cannot be watched for changes")
        return _watches.setdefault(id(backend), cls(backend))

    def fingerprint(self) -> Fingerprint:
        """Equal to an earlier fingerprint as long as nothing that determines ids has changed.

        Raises whatever a custom component that cannot be serialized raises.
        """
        backend = self.backend
        normalizer = backend.normalizer
        pre_tokenizer = backend.pre_tokenizer
        post_processor = backend.post_processor
        model = backend.model
        return (
            self.added_tokens_version,
            self.model_version,
            None if normalizer is None else normalizer.__getstate__(),
            None if pre_tokenizer is None else pre_tokenizer.__getstate__(),
            None if post_processor is None else post_processor.__getstate__(),
            backend.get_vocab_size(False),
            type(model),
            _options_of(model),
        )

    def decoding_fingerprint(self) -> Fingerprint:
        """The same for decoding."""
        backend = self.backend
        decoder = backend.decoder
        return (
            self.added_tokens_version,
            self.model_version,
            None if decoder is None else decoder.__getstate__(),
            backend.get_vocab_size(False),
            type(backend.model),
            "decode" in getattr(backend, "__dict__", {}),
        )

    def added_tokens(self) -> tuple[tuple[int, str, bool, bool, bool, bool, bool], ...]:
        """Every added token with its flags."""
        return tuple(
            (i, t.content, t.single_word, t.lstrip, t.rstrip, t.normalized, t.special)
            for i, t in sorted(added_tokens_of(self.backend).items())
        )


# Only these models reach the native route, so only their options matter; others are compared by type alone.
_OPTION_NAMES: dict[type, tuple[str, ...]] = {
    BPE: BYTE_PAIR_OPTIONS,
    WordPiece: WORD_PIECE_OPTIONS,
}
if all(hasattr(Unigram, name) for name in UNIGRAM_OPTIONS):  # since tokenizers 0.23
    _OPTION_NAMES[Unigram] = UNIGRAM_OPTIONS


def _options_of(model: Any) -> tuple[Any, ...] | None:
    names = _OPTION_NAMES.get(type(model))
    return None if names is None else tuple(getattr(model, name) for name in names)


def with_options(model: Any, fingerprint: Fingerprint) -> Any:
    """The model, or a copy of it, with the options that it had at the time of a fingerprint.

    None where a copy would not be equal: that of a Unigram goes through JSON, after which its scores are others.
    """
    kind, options = fingerprint[-2:]
    if _options_of(model) == options:
        return model
    if kind is Unigram:
        return None
    model = copy.deepcopy(model)
    for name, option in zip(_OPTION_NAMES[kind], options, strict=True):
        setattr(model, name, option)
    return model


@functools.cache
def watch_classes() -> bool:
    """Wraps what changes a tokenizer; whether changes are counted now."""
    try:
        for name, version in CHANGES_TOKENIZER.items():
            _wrap(Tokenizer, name, functools.partial(_tokenizer_changed, version, name in _CHANGE_EVERY_MODEL))
        for kind in watched_classes() - {Tokenizer}:
            for name, member in list(vars(kind).items()):
                is_setter = inspect.isdatadescriptor(member) and not (name.startswith("__") and name.endswith("__"))
                if name in CHANGE_COMPONENT or is_setter:
                    _wrap(kind, name, lambda component: changes.count())
    except (AttributeError, TypeError):
        return False
    return _are_counted()


def watched_classes() -> set[type]:
    """`Tokenizer` and all kinds of its parts."""
    modules = (models, normalizers, pre_tokenizers, processors, decoders)
    found = {member for module in modules for member in vars(module).values() if inspect.isclass(member)}
    found.discard(decoders.DecodeStream)
    return {Tokenizer, *found}


def _wrap(kind: type, name: str, changed: Callable[[Any], object]) -> None:
    """Makes this setter or method call `changed(instance)` after each change."""
    member = vars(kind)[name]
    if inspect.isdatadescriptor(member):
        descriptor: Any = member

        def set_value(instance: Any, value: Any) -> None:
            try:
                descriptor.__set__(instance, value)
            finally:
                changed(instance)

        setattr(kind, name, property(descriptor.__get__, set_value, doc=descriptor.__doc__))
        return

    @functools.wraps(member)
    def changing(instance: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return member(instance, *args, **kwargs)
        finally:
            changed(instance)

    setattr(kind, name, changing)


# Versions come before the count: whoever sees a new count sees the versions that belong to it.


def _tokenizer_changed(version: str | None, every_model: bool, backend: Tokenizer) -> None:
    watch = _watches.get(id(backend))
    if every_model:
        for other in list(_watches.values()):
            other.model_version = changes.count()
    if watch is not None:
        if version is not None:
            setattr(watch, version, changes.count())
        if version == "model_version":
            watch.added_tokens_version = changes.count()
    changes.count()


def _are_counted() -> bool:
    trial = Tokenizer(BPE())
    counted = [changes.last]
    for change in (
        lambda: setattr(trial, "normalizer", normalizers.Prepend("x")),
        lambda: setattr(trial.normalizer, "prepend", "y"),
        lambda: setattr(trial, "model", BPE()),
        lambda: setattr(trial.model, "dropout", 0.5),
        lambda: trial.add_tokens(["x"]),
    ):
        change()
        counted.append(changes.last)
    return all(one < other for one, other in itertools.pairwise(counted))
