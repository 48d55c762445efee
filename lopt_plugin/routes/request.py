"""The request of a call (`EncodeRequest`), its result (`Columns`), and `NeedsReference`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Strategy = Literal["longest_first", "only_first", "only_second"]
Side = Literal["left", "right"]
# One row of a batch: a text or a pair of texts, each as a whole or, as a list, in words.
Row: TypeAlias = "str | list[str] | tuple[str, str] | tuple[list[str], list[str]]"


try:
    from ..native._core import NeedsReference as NeedsReference
except ImportError:  # installed without the native core

    class NeedsReference(ValueError):  # type: ignore[no-redef]  # noqa: N818 - a reason, not an error
        """The reference has to answer this call, for the reason that the message gives."""


class Padding(NamedTuple):
    """Pad rows to `length` ids (None: to the longest row), or to the next multiple of `multiple`."""

    length: int | None
    multiple: int | None
    side: str
    id: int
    type_id: int
    token: str

    def width(self, lengths: Sequence[int]) -> int:
        """The length to which rows of these lengths are padded; longer ones are unchanged."""
        width = max(lengths) if self.length is None else self.length
        return width if self.multiple is None else -(-width // self.multiple) * self.multiple


class EncodeRequest(NamedTuple):
    """What a call requests, apart from its texts.

    max_length: the maximum number of ids per row, including special tokens (None: no limit). The last id is removed
    first, or the first one with truncation_side "left"; in a pair, `strategy` says which text loses it.
    overflow: what truncation removes becomes additional rows, which share `stride` ids with their neighbours.
    offsets, token_type_ids, attention_mask, special_tokens_mask, row_lengths: the columns wanted besides ids.
    tensors: the kind of tensors wanted, as transformers names it. arrays: columns of rows of equal length are NumPy
    arrays, not lists. in_words: texts are lists of words.
    """

    add_special_tokens: bool = True
    split_special_tokens: bool = False
    max_length: int | None = None
    truncation_side: Side = "right"
    strategy: Strategy = "longest_first"
    offsets: bool = False
    token_type_ids: bool = False
    attention_mask: bool = False
    # A request with any of the following is not plain.
    stride: int = 0
    overflow: bool = False
    padding: Padding | None = None
    special_tokens_mask: bool = False
    row_lengths: bool = False
    tensors: Any = None
    arrays: bool = False
    in_words: bool = False

    @property
    def keeps_end(self) -> bool:
        """Whether truncation removes the beginning of a text."""
        return self.truncation_side == "left"

    @property
    def is_plain(self) -> bool:
        """Whether all wanted columns except offsets follow from each row's number of ids."""
        return self is COMMONEST or (self[8:] == _PLAIN_REST and self.strategy != "only_second")

    def truncation_settings(self) -> dict[str, Any] | None:
        """The truncation as the Rust tokenizer holds it; None where nothing is truncated."""
        if self.max_length is None:
            return None
        return {
            "max_length": self.max_length,
            "direction": self.truncation_side,
            "stride": self.stride,
            "strategy": self.strategy,
        }

    def padding_settings(self) -> dict[str, Any] | None:
        """The padding as the Rust tokenizer holds it; None where nothing is padded."""
        if self.padding is None:
            return None
        length, multiple, side, number, type_id, token = self.padding
        return {
            "length": length,
            "direction": side,
            "pad_id": number,
            "pad_token": token,
            "pad_type_id": type_id,
            "pad_to_multiple_of": multiple,
        }


_PLAIN_REST = EncodeRequest()[8:]


# The most common requests, made once: PLAIN[add_special_tokens][split_special_tokens].
PLAIN = tuple(tuple(EncodeRequest(special, split) for split in (False, True)) for special in (False, True))
COMMONEST = PLAIN[True][False]


@dataclass
class Columns:
    """For each row: ids [n], type ids [n], special tokens mask [n], attention mask [n] and, if wanted, offsets [n, 2].

    Each is a list of lists, or an array of all rows. A plain request gets only ids and offsets; type ids and attention
    mask follow from their number.
    places: int64 [rows, 6]: the given row that the row comes from; how many of its ids are padding; where its ids begin
    and end in the first text, and in the second.
    word_counts: for each text of the given rows, how many ids each word has; None if texts are not split into words.
    """

    ids: Any
    type_ids: Any = None
    special: Any = None
    attention: Any = None
    offsets: Any = None
    places: Any = None
    word_counts: Sequence[Any] | None = None
