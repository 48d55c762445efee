"""Accelerated transformers tokenizers: subclasses of the tokenizer's own class that ask the Encoder for ids.

Results, warnings and exceptions are those of the original class. Calls that the Encoder cannot answer go to that class,
under a lock, so that threads do not interfere through the state of the Rust tokenizer.

Two things differ, and only in `_tokenizer` itself. A call that the Encoder answers does not touch the truncation,
padding and `encode_special_tokens` of the Rust tokenizer, which transformers would have set (a saved, copied or pickled
tokenizer has the first two as transformers would have left them). And the methods that change the Rust tokenizer are
watched (`backend_watch` says what is noticed).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from ..encoder.encoder import Encoder
from ..settings import SETTING_NAMES, Settings, logger
from .decode_calls import DecodeCalls
from .flat_copies import with_flat_copies
from .overrides import DECODE, first_override

_OWN_ATTRIBUTES = ("_lopt_encoder", "_lopt_settings")


def accelerate(tokenizer: PreTrainedTokenizerBase, **settings: Any) -> LoptMixin:
    """Makes an accelerated tokenizer from a Hugging Face fast tokenizer that is already loaded.

    The two share the Rust tokenizer (`backend_tokenizer`), so nothing is loaded twice and both return the same ids:
    tokens added to one are added to both, as with `copy.copy`. Attributes that transformers keeps elsewhere (special
    tokens, sides, lengths) are not shared. To share nothing, accelerate `copy.deepcopy(tokenizer)`.

    Args:
        tokenizer: The tokenizer.
        **settings: `Settings` by name; any that are left out come from the environment.

    Returns:
        A tokenizer of a subclass of the argument's class. `.lopt` is its Encoder.

    Raises:
        TypeError: For a tokenizer that does not use the tokenizers library, or an unknown setting.
        ValueError: For an invalid setting.

    >>> import lopt_plugin
    >>> from transformers import AutoTokenizer
    >>> loaded = AutoTokenizer.from_pretrained(example_folder)
    >>> fast = lopt_plugin.accelerate(loaded, threads=2)
    >>> fast("Hello world")["input_ids"] == loaded("Hello world")["input_ids"]
    True
    """
    read = Settings.read(**settings)
    _check_fast(tokenizer)
    original = tokenizer._lopt_original() if isinstance(tokenizer, LoptMixin) else tokenizer
    backend = original._tokenizer
    # The backend is shared: a copy, made through JSON, may give other ids, and lacks what was patched on it.
    copied = copy.deepcopy(original, with_flat_copies(original, {id(backend): backend}))
    accelerated: LoptMixin = accelerate_in_place(copied, read)
    return accelerated


def from_pretrained(name_or_path: Any, *args: Any, **kwargs: Any) -> LoptMixin:
    """Loads a tokenizer with `AutoTokenizer.from_pretrained`, and accelerates it.

    Args:
        name_or_path: The name of a model on the Hugging Face hub, or a folder that contains one.
        *args: Further arguments of `AutoTokenizer.from_pretrained`.
        **kwargs: Settings by name, as for `accelerate`. All others go to `AutoTokenizer.from_pretrained`.

    Returns:
        The tokenizer, of a subclass of the class that transformers chose. `.lopt` is its Encoder.

    Raises:
        TypeError: For a tokenizer that does not use the tokenizers library.
        ValueError: For an invalid setting.
        OSError: From transformers, if the tokenizer cannot be loaded.

    >>> import lopt_plugin
    >>> tokenizer = lopt_plugin.from_pretrained(example_folder, threads=2)
    >>> tokenizer("Hello world")["input_ids"] == tokenizer.lopt.encode_list("Hello world")
    True
    """
    given = {name: kwargs.pop(name) for name in SETTING_NAMES & kwargs.keys()}
    settings = Settings.read(**given)
    tokenizer = AutoTokenizer.from_pretrained(name_or_path, *args, **kwargs)
    _check_fast(tokenizer)
    accelerated: LoptMixin = accelerate_in_place(tokenizer, settings)
    return accelerated


def accelerate_in_place(
    tokenizer: PreTrainedTokenizerFast, settings: Settings, *, lazy: bool = False
) -> PreTrainedTokenizerFast:
    """Turns the object itself into an accelerated one. Only for a tokenizer that is not shared yet.

    With `lazy`, the encoder is built at its first use.
    """
    if not isinstance(tokenizer, LoptMixin):
        tokenizer.__class__ = accelerated_class(type(tokenizer))
    tokenizer.__dict__["_lopt_settings"] = settings
    tokenizer.__dict__["_lopt_encoder"] = Encoder(tokenizer._tokenizer, settings, lazy=lazy)
    reason = type(tokenizer)._lopt_not_direct
    if reason is not None:
        logger.warning("lopt_plugin: calls of this tokenizer stay with transformers: %s", reason)
    return tokenizer


def _check_fast(tokenizer: Any) -> None:
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise TypeError(
            f"lopt_plugin accelerates fast tokenizers (PreTrainedTokenizerFast, those that run on the tokenizers "
            f"library), got {type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
        )


class LoptMixin(DecodeCalls):
    """What acceleration adds to a tokenizer's own class; see the module's docstring."""

    _lopt_is_ours = True
    _lopt_original_class: Any

    def _lopt_original(self) -> PreTrainedTokenizerFast:
        """The tokenizer as an object of the class it had before, sharing the Rust tokenizer and every attribute."""
        if self._lopt_encoder is not None:
            self._lopt_encoder._write_call_state()
        original_class = self._lopt_original_class
        original = original_class.__new__(original_class)
        original.__dict__.update({k: v for k, v in self.__dict__.items() if k not in _OWN_ATTRIBUTES})
        return original

    def _lopt_from_original(self, original: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
        original.__class__ = type(self)
        original.__dict__["_lopt_settings"] = self._lopt_settings
        backend = original._tokenizer
        encoder = self._lopt_encoder
        if encoder is not None and encoder._backend is not backend:
            encoder = encoder._copy_for(backend) if encoder._backend is self._tokenizer else None
        original.__dict__["_lopt_encoder"] = encoder
        return original

    def __copy__(self) -> Any:
        return self._lopt_copied(copy.copy)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        with_flat_copies(self, memo)
        copied = memo[id(self)] = self._lopt_copied(lambda parts: copy.deepcopy(parts, memo))
        return copied

    def _lopt_copied(self, copied: Callable[[Any], Any]) -> Any:
        if type(self).__reduce__ is not LoptMixin.__reduce__:
            function, arguments = self.__reduce__()[:2]
            return function(*copied(arguments))
        return self._lopt_from_original(copied(self._lopt_original()))

    def __reduce__(self) -> tuple[Any, ...]:
        derived = None if "_lopt_original_class" in vars(type(self)) else type(self)
        return _restore, (self._lopt_original(), self._lopt_settings, derived)

    def save_pretrained(self, *args: Any, **kwargs: Any) -> Any:
        """As in transformers. The files name the original class, so they load without lopt_plugin."""
        return self._lopt_original().save_pretrained(*args, **kwargs)

    def train_new_from_iterator(self, *args: Any, **kwargs: Any) -> Any:
        """As in transformers; the new tokenizer is accelerated with the same settings."""
        trained = self._lopt_original().train_new_from_iterator(*args, **kwargs)
        return accelerate_in_place(trained, self._lopt_settings or Settings.read())


def accelerated_class(original: Any) -> Any:
    """The subclass of the tokenizer class `original` and of LoptMixin; one per class as long as it is in use."""
    # Asked of the class itself, because a cache would keep classes alive that engines make for each tokenizer. No lock,
    # for which the child of a fork might wait: of two threads, each may make a class, and both serve.
    for subclass in original.__subclasses__():
        if vars(subclass).get("_lopt_original_class") is original:
            return subclass
    namespace = {"__module__": __name__, "__doc__": original.__doc__, "_lopt_original_class": original}
    for name in ("__call__", "encode"):
        # A class with its own method may take different arguments from ours.
        if first_override(original, (name,)) is not None:
            namespace[name] = getattr(original, name)
    if first_override(original, DECODE) is not None:
        namespace.update({name: getattr(original, name) for name in DECODE})
    return type(f"Lopt{original.__name__}", (LoptMixin, original), namespace)


def _restore(tokenizer: PreTrainedTokenizerFast, settings: Settings | None, derived: type | None) -> Any:
    restored = accelerate_in_place(tokenizer, settings or Settings.read(), lazy=True)
    if derived is not None:
        restored.__class__ = derived
    return restored
