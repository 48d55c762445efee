"""Parses a call of the transformers interface: its arguments become an EncodeRequest, its texts become rows."""

from __future__ import annotations

import functools
from typing import Any

from transformers import PreTrainedTokenizerFast
from transformers.tokenization_utils_base import LARGE_INTEGER, TruncationStrategy
from transformers.utils import PaddingStrategy, TensorType

from ..encoder.checks import plain
from ..routes.request import EncodeRequest, NeedsReference, Padding, Row, Side, Strategy

TRANSFORMERS_4 = hasattr(PreTrainedTokenizerFast, "_batch_encode_plus")

# Beyond this, the Rust side overflows and raises; the sum of two such lengths still fits.
_LARGEST_LENGTH = 1 << 62

# The longest row that we pad to; the reference has no such limit.
_LARGEST_PADDING = 1 << 28

_STRATEGIES: dict[Any, Strategy | None] = {
    "longest_first": "longest_first",
    "only_first": "only_first",
    "do_not_truncate": None,
}
_ARRAY_TENSORS = (TensorType.NUMPY, TensorType.PYTORCH)

# Arguments of `_encode_plus` that, if true, request something that only HF provides in transformers 4.
_ASK_FOR_MORE = ("stride", "is_split_into_words", "return_overflowing_tokens")
# transformers 4 raises TypeError for every argument it does not know.
_MAY_BE_FALSE = "sanitize_control_tokens"
_KNOWN = frozenset(
    (
        *_ASK_FOR_MORE, "return_special_tokens_mask", "return_offsets_mapping", "return_length", "add_special_tokens",
        "padding_strategy", "truncation_strategy", "max_length", "pad_to_multiple_of", "padding_side", "return_tensors",
        "return_token_type_ids", "return_attention_mask", "verbose", "split_special_tokens",
    )
)  # fmt: skip


def request_of_call(
    tokenizer: Any,
    add_special_tokens: bool,
    truncation: Any = None,
    max_length: Any = None,
    return_token_type_ids: bool | None = False,
    return_attention_mask: bool | None = False,
    return_offsets_mapping: Any = False,
) -> tuple[EncodeRequest, bool]:
    """The request of a call for one text without padding, and whether transformers warns about too many ids.

    Raises NeedsReference.
    """
    strategy: Strategy = "longest_first"
    limit, side = None, "right"
    if truncation is not None or max_length is not None:
        strategy, limit, max_length = truncation_of_call(truncation, max_length, tokenizer.model_max_length)
        side = _side(tokenizer, limit)
    if return_token_type_ids is None:
        return_token_type_ids = "token_type_ids" in tokenizer.model_input_names
    if return_attention_mask is None:
        return_attention_mask = "attention_mask" in tokenizer.model_input_names
    split, offsets = tokenizer.split_special_tokens, return_offsets_mapping
    request = _request(
        add_special_tokens, split, limit, side, strategy, offsets, return_token_type_ids, return_attention_mask
    )
    return request, max_length is None


@functools.lru_cache(maxsize=256)
def _request(
    special: bool, split: Any, limit: int | None, side: Side, strategy: Strategy, *columns: Any
) -> EncodeRequest:
    # Calls repeat, and finding a request takes less time than making one.
    offsets, type_ids, attention = map(bool, columns)
    return EncodeRequest(special, bool(split), limit, side, strategy, offsets, type_ids, attention)


def truncation_of_call(truncation: Any, max_length: Any, model_max_length: Any) -> tuple[Strategy, int | None, Any]:
    """The strategy, the maximum number of ids (None: all) and the resolved max_length, from `__call__`'s arguments.

    One of the first two is not None. The rules of `PreTrainedTokenizerBase._get_padding_truncation_strategies`. Raises
    NeedsReference.
    """
    # Also if truncation is None: in old versions, max_length alone requested truncation.
    strategy: Strategy | None = "longest_first"
    if truncation is False:
        strategy = None
    elif truncation is not None and truncation is not True:
        value = truncation.value if isinstance(truncation, TruncationStrategy) else truncation
        if not isinstance(value, str) or value not in _STRATEGIES:
            raise NeedsReference(f"truncation={value!r}")
        strategy = _STRATEGIES[value]
    if strategy is None:
        return "longest_first", None, max_length
    if TRANSFORMERS_4 and (truncation is None or max_length is None):
        raise NeedsReference("transformers 4 may warn about this truncation")
    if max_length is None:
        if model_max_length > LARGE_INTEGER:
            return strategy, None, None
        max_length = model_max_length
    return strategy, _checked_max_length(max_length), max_length


def _checked_max_length(max_length: Any) -> int:
    if type(max_length) is not int or not 0 <= max_length < _LARGEST_LENGTH:
        raise NeedsReference("max_length is not a usual whole number")
    return max_length


def _side(tokenizer: Any, limit: int | None) -> Side:
    if limit is None or tokenizer.truncation_side == "right":
        return "right"
    if tokenizer.truncation_side != "left":
        raise NeedsReference("truncation_side")
    return "left"


def rows_and_request(
    tokenizer: Any, text: Any, text_pair: Any, args: tuple[Any, ...], kwargs: dict[str, Any], batches: bool | None
) -> tuple[list[Row], EncodeRequest, bool, bool]:
    """The rows of `_encode_plus`, the request, whether it is a batch, and whether transformers warns about many ids.

    batches: whether a batch is required (None: both are accepted). Raises NeedsReference.
    """
    if tokenizer._lopt_not_direct is not None:
        raise NeedsReference(tokenizer._lopt_not_direct)
    if args:
        raise NeedsReference("positional arguments")
    _check_known(kwargs)
    rows, batched = rows_of_encode_plus(text, text_pair, bool(kwargs.get("is_split_into_words")))
    if batches is not None and batched is not batches:
        raise NeedsReference("a batch where transformers 4 takes one text, or one text where it takes a batch")
    warns = kwargs.get("max_length") is None and bool(kwargs.get("verbose", True))
    return rows, _request_of_encode_plus(tokenizer, kwargs), batched, warns


def _request_of_encode_plus(tokenizer: Any, kwargs: dict[str, Any]) -> EncodeRequest:
    stride = kwargs.get("stride", 0)
    if type(stride) is not int or not 0 <= stride < _LARGEST_LENGTH:
        raise NeedsReference("stride is not a usual whole number")
    max_length = kwargs.get("max_length")
    strategy: Strategy = "longest_first"
    limit = None
    wanted = kwargs.get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE)
    if not isinstance(wanted, TruncationStrategy):
        raise NeedsReference(f"truncation_strategy={wanted!r}")
    if wanted != TruncationStrategy.DO_NOT_TRUNCATE:
        strategy, limit = wanted.value, _checked_max_length(max_length)
    split, names = kwargs.get("split_special_tokens"), tokenizer.model_input_names
    type_ids, attention = kwargs.get("return_token_type_ids"), kwargs.get("return_attention_mask")
    tensors = kwargs.get("return_tensors")
    return EncodeRequest(
        kwargs.get("add_special_tokens", True),
        bool(tokenizer.split_special_tokens if split is None else split),
        limit,
        _side(tokenizer, limit),
        strategy,
        bool(kwargs.get("return_offsets_mapping")),
        "token_type_ids" in names if type_ids is None else bool(type_ids),
        "attention_mask" in names if attention is None else bool(attention),
        0 if limit is None else stride,
        bool(kwargs.get("return_overflowing_tokens")),
        _padding(tokenizer, kwargs, max_length),
        bool(kwargs.get("return_special_tokens_mask")),
        bool(kwargs.get("return_length")),
        tensors,
        arrays=tensors in _ARRAY_TENSORS,
        in_words=bool(kwargs.get("is_split_into_words")),
    )


def _check_known(kwargs: dict[str, Any]) -> None:
    for name in sorted(kwargs.keys() - _KNOWN):
        if TRANSFORMERS_4 or name != _MAY_BE_FALSE or kwargs[name] is not False:
            raise NeedsReference(f"argument {name}")
    for name in _ASK_FOR_MORE:
        if TRANSFORMERS_4 and kwargs.get(name):
            raise NeedsReference(name)
    if type(kwargs.get("add_special_tokens", True)) is not bool:
        raise NeedsReference("add_special_tokens is not a bool")
    if kwargs.get("split_special_tokens") not in (None, True, False):
        raise NeedsReference("split_special_tokens is not a bool")


def _padding(tokenizer: Any, kwargs: dict[str, Any], max_length: Any) -> Padding | None:
    strategy = kwargs.get("padding_strategy", PaddingStrategy.DO_NOT_PAD)
    if strategy == PaddingStrategy.DO_NOT_PAD:
        return None
    if not isinstance(strategy, PaddingStrategy):
        raise NeedsReference(f"padding_strategy={strategy!r}")
    multiple = kwargs.get("pad_to_multiple_of")
    if multiple is not None and (type(multiple) is not int or not 0 < multiple <= _LARGEST_PADDING):
        raise NeedsReference("pad_to_multiple_of is not a usual whole number")
    side = kwargs.get("padding_side")
    side = tokenizer.padding_side if side is None else side
    token, number, type_id = tokenizer.pad_token, tokenizer.pad_token_id, tokenizer.pad_token_type_id
    if side not in ("left", "right") or not isinstance(token, str):
        raise NeedsReference("padding_side or pad_token")
    if not all(type(value) is int and 0 <= value < 1 << 31 for value in (number, type_id)):
        raise NeedsReference("pad_token_id or pad_token_type_id is not a usual whole number")
    length = None if strategy == PaddingStrategy.LONGEST else max_length
    if strategy != PaddingStrategy.LONGEST and (type(length) is not int or not 0 < length <= _LARGEST_PADDING):
        raise NeedsReference("max_length is not a usual whole number")
    return Padding(length, multiple, side, number, type_id, token)


def rows_of_encode_plus(text: Any, text_pair: Any, in_words: bool = False) -> tuple[list[Row], bool]:
    """Rows of plain str or pairs of them, and whether they are a batch; with `in_words`, lists of str instead of str.

    Raises NeedsReference if HF must answer.
    """
    one, row, lists = (_words, _words, list) if in_words else (_text, _text_or_pair, (list, tuple))
    if isinstance(text[0] if in_words and type(text) is list and text else text, str):
        pair = None if text_pair is None else one(text_pair)
        return [(one(text), pair) if pair else one(text)], False
    if not isinstance(text, lists) or not text:
        raise NeedsReference("words that are not a list" if in_words else "text is not a str or a list of str")
    if text_pair is None:
        return [row(given) for given in text], True
    if isinstance(text_pair, lists) and len(text_pair) == len(text):
        return [(one(given), one(other)) for given, other in zip(text, text_pair, strict=True)], True
    raise NeedsReference("text_pair is not a list of as many texts")


def _text_or_pair(row: Any) -> Any:
    return (_text(row[0]), _text(row[1])) if type(row) is tuple and len(row) == 2 else _text(row)


def _text(text: Any) -> Any:
    if not isinstance(text, str):
        raise NeedsReference("a text that is not a str")
    return plain(text)


def _words(words: Any) -> Any:
    if type(words) is not list or not all(isinstance(word, str) for word in words):
        raise NeedsReference("words that are not a list of str")
    return [plain(word) for word in words]
