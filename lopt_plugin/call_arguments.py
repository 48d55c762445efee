"""Which calls of the transformers interface mean the same as plain ids of plain texts."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedTokenizerFast
from transformers.tokenization_utils_base import LARGE_INTEGER, TruncationStrategy
from transformers.utils import PaddingStrategy

TRANSFORMERS_4 = hasattr(PreTrainedTokenizerFast, "_batch_encode_plus")

# Beyond this the Rust side overflows and raises; the sum of two such lengths still fits.
_LARGEST_LENGTH = 1 << 62

_CUTS = frozenset(("longest_first", "only_first"))
_DO_NOT_CUT = "do_not_truncate"

# Arguments of `_encode_plus` that, if true, ask for something only HF gives.
_ASK_FOR_MORE = (
    "stride",
    "is_split_into_words",
    "return_overflowing_tokens",
    "return_special_tokens_mask",
    "return_offsets_mapping",
    "return_length",
)
# transformers 4 raises TypeError for every argument it does not know.
_MAY_BE_FALSE = "sanitize_control_tokens"
_KNOWN = frozenset(
    (
        *_ASK_FOR_MORE,
        "add_special_tokens",
        "padding_strategy",
        "truncation_strategy",
        "max_length",
        "pad_to_multiple_of",
        "padding_side",
        "return_tensors",
        "return_token_type_ids",
        "return_attention_mask",
        "verbose",
        "split_special_tokens",
    )
)


class NotPlainError(Exception):
    """HF must be asked; the message says which part of the call asks for it."""


def limit_of_call(truncation: Any, max_length: Any, model_max_length: Any) -> tuple[int | None, Any]:
    """The number of ids to keep (None: all) and the resolved max_length, from `__call__`'s arguments without padding.

    The rules of `PreTrainedTokenizerBase._get_padding_truncation_strategies`. Raises NotPlainError.
    """
    if truncation is None:
        # Of old, max_length alone asks for truncation.
        cuts = max_length is not None
    elif truncation is False:
        return None, max_length
    elif truncation is True:
        cuts = True
    elif isinstance(truncation, str):
        value = truncation.value if isinstance(truncation, TruncationStrategy) else truncation
        if value not in _CUTS and value != _DO_NOT_CUT:
            raise NotPlainError(f"truncation={value!r}")
        cuts = value != _DO_NOT_CUT
    else:
        raise NotPlainError(f"truncation={truncation!r}")
    if not cuts:
        return None, max_length
    if TRANSFORMERS_4 and (truncation is None or max_length is None):
        raise NotPlainError("transformers 4 may warn about this truncation")
    if max_length is None:
        if model_max_length > LARGE_INTEGER:
            return None, None
        max_length = model_max_length
    if type(max_length) is not int or not 0 <= max_length < _LARGEST_LENGTH:
        raise NotPlainError("max_length is not a usual whole number")
    return max_length, max_length


def limit_of_encode_plus(kwargs: dict[str, Any]) -> int | None:
    """The number of ids to keep (None: all), from `_encode_plus`'s arguments but the text. Raises NotPlainError."""
    unknown = kwargs.keys() - _KNOWN
    if not TRANSFORMERS_4 and kwargs.get(_MAY_BE_FALSE) is False:
        unknown.discard(_MAY_BE_FALSE)
    if unknown:
        raise NotPlainError(f"argument {min(unknown)}")
    for name in _ASK_FOR_MORE:
        if kwargs.get(name):
            raise NotPlainError(name)
    if type(kwargs.get("add_special_tokens", True)) is not bool:
        raise NotPlainError("add_special_tokens is not a bool")
    if kwargs.get("split_special_tokens") not in (None, True, False):
        raise NotPlainError("split_special_tokens is not a bool")
    if kwargs.get("return_tensors") is not None:
        raise NotPlainError("return_tensors")
    if kwargs.get("padding_strategy", PaddingStrategy.DO_NOT_PAD) != PaddingStrategy.DO_NOT_PAD:
        raise NotPlainError("padding")
    strategy = kwargs.get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE)
    if strategy == TruncationStrategy.DO_NOT_TRUNCATE:
        return None
    if strategy not in (TruncationStrategy.LONGEST_FIRST, TruncationStrategy.ONLY_FIRST):
        raise NotPlainError(f"truncation_strategy={strategy}")
    return limit_of_call(True, kwargs.get("max_length"), float("-inf"))[0]


def is_batch(text: Any) -> bool:
    """Whether a text argument is a batch of strings, not one string. Raises NotPlainError if it is neither."""
    if isinstance(text, str):
        return False
    if not isinstance(text, (list, tuple)):
        raise NotPlainError("text is not a str or a list of str")
    if not text or not all(isinstance(row, str) for row in text):
        raise NotPlainError("an empty batch, or one that is not of str")
    return True
