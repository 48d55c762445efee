"""What calls of the transformers interface ask for, and which of them are left to HF."""

from __future__ import annotations

from typing import Any, NamedTuple

from transformers import PreTrainedTokenizerFast
from transformers.tokenization_utils_base import LARGE_INTEGER, TruncationStrategy
from transformers.utils import PaddingStrategy

from .encoder import plain
from .routes import Row
from .row_request import Cut

TRANSFORMERS_4 = hasattr(PreTrainedTokenizerFast, "_batch_encode_plus")

# Beyond this the Rust side overflows and raises; the sum of two such lengths still fits.
_LARGEST_LENGTH = 1 << 62

# Rows are not filled up to more than this by us.
_LARGEST_PADDING = 1 << 28

_CUTS = frozenset(("longest_first", "only_first"))
_DO_NOT_CUT = "do_not_truncate"

# Arguments of `_encode_plus` that, if true, ask for something that only HF gives in transformers 4.
_ASK_FOR_MORE = ("stride", "is_split_into_words", "return_overflowing_tokens")
# transformers 4 raises TypeError for every argument it does not know.
_MAY_BE_FALSE = "sanitize_control_tokens"
_KNOWN = frozenset(
    (
        *_ASK_FOR_MORE,
        "return_special_tokens_mask",
        "return_offsets_mapping",
        "return_length",
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


class Wanted(NamedTuple):
    """What `_encode_plus` is asked for, apart from its texts.

    limit: how many ids of a row are kept (None: all), by the strategy `cut`; max_length is that argument as given.
    width: rows are padded to that length (0: to the longest row's), and to a multiple of `multiple`; None: not at all.
    token_type_ids to length: which columns were asked for; the first two are None where the model decides.
    overflow: what is cut off makes rows of its own, with `stride` ids in common.
    """

    add_special_tokens: bool
    split_special_tokens: bool | None
    limit: int | None
    cut: Cut
    max_length: Any
    width: int | None
    multiple: int | None
    padding_side: str | None
    tensors: Any
    token_type_ids: bool | None
    attention_mask: bool | None
    special_tokens_mask: bool
    offsets: bool
    length: bool
    verbose: bool
    overflow: bool
    stride: int

    @property
    def plain(self) -> bool:
        """Nothing but ids, cut or not, and their offsets; all other columns follow by their length."""
        more = self.special_tokens_mask or self.length or self.overflow or self.stride
        return self.width is None and self.tensors is None and not more


def wanted_of_encode_plus(kwargs: dict[str, Any]) -> Wanted:
    """Raises NotPlainError where only HF gives what is asked for."""
    unknown = kwargs.keys() - _KNOWN
    if not TRANSFORMERS_4 and kwargs.get(_MAY_BE_FALSE) is False:
        unknown.discard(_MAY_BE_FALSE)
    if unknown:
        raise NotPlainError(f"argument {min(unknown)}")
    for name in _ASK_FOR_MORE:
        if TRANSFORMERS_4 and kwargs.get(name):
            raise NotPlainError(name)
    stride = kwargs.get("stride", 0)
    if type(stride) is not int or not 0 <= stride < _LARGEST_LENGTH:
        raise NotPlainError("stride is not a usual whole number")
    if type(kwargs.get("add_special_tokens", True)) is not bool:
        raise NotPlainError("add_special_tokens is not a bool")
    if kwargs.get("split_special_tokens") not in (None, True, False):
        raise NotPlainError("split_special_tokens is not a bool")
    max_length = kwargs.get("max_length")
    strategy = kwargs.get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE)
    if strategy == TruncationStrategy.DO_NOT_TRUNCATE:
        limit: int | None = None
        cut: Cut = "longest_first"
    elif isinstance(strategy, TruncationStrategy):
        limit, cut = limit_of_call(True, max_length, float("-inf"))[0], strategy.value
    else:
        raise NotPlainError(f"truncation_strategy={strategy!r}")
    width, multiple = _padding_of(kwargs, max_length)
    return Wanted(
        kwargs.get("add_special_tokens", True),
        kwargs.get("split_special_tokens"),
        limit,
        cut,
        max_length,
        width,
        multiple,
        kwargs.get("padding_side"),
        kwargs.get("return_tensors"),
        kwargs.get("return_token_type_ids"),
        kwargs.get("return_attention_mask"),
        bool(kwargs.get("return_special_tokens_mask")),
        bool(kwargs.get("return_offsets_mapping")),
        bool(kwargs.get("return_length")),
        kwargs.get("verbose", True),
        bool(kwargs.get("return_overflowing_tokens")),
        0 if limit is None else stride,
    )


def _padding_of(kwargs: dict[str, Any], max_length: Any) -> tuple[int | None, int | None]:
    strategy = kwargs.get("padding_strategy", PaddingStrategy.DO_NOT_PAD)
    if strategy == PaddingStrategy.DO_NOT_PAD:
        return None, None
    if not isinstance(strategy, PaddingStrategy):
        raise NotPlainError(f"padding_strategy={strategy!r}")
    multiple = kwargs.get("pad_to_multiple_of")
    if multiple is not None and (type(multiple) is not int or not 0 < multiple <= _LARGEST_PADDING):
        raise NotPlainError("pad_to_multiple_of is not a usual whole number")
    if kwargs.get("padding_side") not in (None, "left", "right"):
        raise NotPlainError("padding_side")
    if strategy == PaddingStrategy.LONGEST:
        return 0, multiple
    if type(max_length) is not int or not 0 < max_length <= _LARGEST_PADDING:
        raise NotPlainError("max_length is not a usual whole number")
    return max_length, multiple


def rows_of_encode_plus(text: Any, text_pair: Any, in_words: bool = False) -> tuple[list[Row], bool]:
    """Rows of plain str or pairs of them, and whether they are a batch; with `in_words`, lists of str in place of str.

    Raises NotPlainError where HF must be asked.
    """
    if in_words:
        return _rows_in_words(text, text_pair)
    if isinstance(text, str):
        if text_pair is None or (isinstance(text_pair, str) and not text_pair):
            return [plain(text)], False
        if isinstance(text_pair, str):
            return [(plain(text), plain(text_pair))], False
        raise NotPlainError("text_pair is not a str")
    rows = [_row_of(row) for row in text] if isinstance(text, (list, tuple)) else []
    if not rows:
        raise NotPlainError("text is not a str or a list of str")
    if text_pair is None:
        return rows, True
    if isinstance(text_pair, (list, tuple)) and len(text_pair) == len(rows):
        pairs = [_row_of(row) for row in zip(text, text_pair, strict=True)]
        return pairs, True
    raise NotPlainError("text_pair is not a list of as many str")


def _row_of(row: Any) -> Row:
    if isinstance(row, str):
        return plain(row)
    if type(row) is tuple and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], str):
        return plain(row[0]), plain(row[1])
    raise NotPlainError("a row that is not a str or a pair of them")


def _rows_in_words(text: Any, text_pair: Any) -> tuple[list[Row], bool]:
    if type(text) is not list or not text:
        raise NotPlainError("words that are not a list")
    if isinstance(text[0], str):
        return [(_words(text), _words(text_pair)) if text_pair else _words(text)], False
    if text_pair is None:
        return [_words(row) for row in text], True
    if type(text_pair) is list and len(text_pair) == len(text):
        return [(_words(one), _words(other)) for one, other in zip(text, text_pair, strict=True)], True
    raise NotPlainError("text_pair is not a list of as many lists of words")


def _words(words: Any) -> list[str]:
    if type(words) is not list or not all(isinstance(word, str) for word in words):
        raise NotPlainError("words that are not a list of str")
    return [plain(word) for word in words]
