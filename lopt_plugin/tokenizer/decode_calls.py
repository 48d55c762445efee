"""The decoding calls of an accelerated tokenizer, answered natively if that is exact."""

from __future__ import annotations

from array import array
from typing import Any

from transformers import PreTrainedTokenizerFast

from ..pipeline import Unsupported
from ..routes.native_core import import_core
from .calls import Calls
from .overrides import DECODE, first_override

# An argument for slow tokenizers, which transformers' fast ones accept and ignore. SGLang always passes it.
_IGNORED = {"spaces_between_special_tokens"}
# What the library reads as a list. SGLang's scheduler decodes arrays.
_SEQUENCES = (tuple, array)
# transformers 5 does not clean up what BPE tokenizers decode, unless this attribute says so.
_CLEANS_UP_BPE = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
_SPARES_BPE = _CLEANS_UP_BPE in PreTrainedTokenizerFast._decode.__code__.co_names


def _decode_by_transformers(self: Any, *args: Any, **kwargs: Any) -> Any:
    return super(DecodeCalls, self).decode(*args, **kwargs)


def _decode_method() -> Any:
    """`decode`, which reads only what the instance itself has: one id takes less time than some attributes."""
    try:
        return import_core().decode_method(_decode_by_transformers)
    except Unsupported:
        return _decode_by_transformers


class DecodeCalls(Calls):
    """`decode`, `batch_decode`, `_decode` and `convert_ids_to_tokens` of an accelerated tokenizer.

    The most common calls are answered at once. All others take the same path as in transformers, which ends at
    `_decode` with every argument in its normal form. So errors about arguments remain transformers' own.
    """

    _lopt_is_ours = True
    # Whether no class in between has one of these methods of its own.
    _lopt_decodes = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._lopt_decodes = first_override(cls, DECODE) is None
        if not cls._lopt_decodes and cls.decode is DecodeCalls.decode:
            cls.decode = _decode_by_transformers

    decode = _decode_method()

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False, *args: Any, **kwargs: Any) -> Any:
        if (
            self._lopt_decodes
            and type(sequences) is list
            and sequences
            and not args
            and kwargs.keys() <= _IGNORED
            and not self.clean_up_tokenization_spaces
        ):
            texts = self._lopt_current()._decoding.decode_rows(sequences, skip_special_tokens)
            if texts is not None:
                return texts
        return super().batch_decode(sequences, skip_special_tokens, *args, **kwargs)

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        if self._lopt_decodes and kwargs.keys() <= _IGNORED:
            cleans_up = clean_up_tokenization_spaces
            if cleans_up is None:
                cleans_up = self.clean_up_tokenization_spaces
            decoding = self._lopt_current()._decoding
            if type(token_ids) in _SEQUENCES:
                token_ids = list(token_ids)
            warns = False
            if cleans_up and self._lopt_is_spared():
                warns, cleans_up = not decoding.warned_of_clean_up, False
                decoding.warned_of_clean_up = True
            text = None if warns else decoding.text_or_none("decode", token_ids, skip_special_tokens)
            if text is not None:
                return self.clean_up_tokenization(text) if cleans_up else text
        return super()._decode(token_ids, skip_special_tokens, clean_up_tokenization_spaces, **kwargs)

    def _lopt_is_spared(self) -> bool:
        """Whether transformers leaves texts of this tokenizer as they are, asked to clean them up or not."""
        is_bpe = type(self._tokenizer.model).__name__ == "BPE"
        return _SPARES_BPE and is_bpe and not getattr(self, _CLEANS_UP_BPE)

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        if self._lopt_decodes and type(ids) is list:
            decoding = self._lopt_current()._decoding
            wanted = ids
            if skip_special_tokens:
                skipped = set(self.all_special_ids)
                wanted = [number for number in ids if type(number) is not int or number not in skipped]
            tokens = decoding.tokens(wanted)
            if tokens is None:
                tokens = decoding.tokens_or_none("convert_ids_to_tokens", wanted)
            if tokens is not None:
                return tokens
        return super().convert_ids_to_tokens(ids, skip_special_tokens)
