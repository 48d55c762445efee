"""A route turns text into the ids of one tokenizer. All give the same ids; they differ in how soon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
RowOffsets = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32]
# What one row of a batch is made of: a text, or two; each as a whole or, as a list, in words.
Row: TypeAlias = "str | list[str] | tuple[str, str] | tuple[list[str], list[str]]"


class CannotEncodeError(ValueError):
    """Not a text for the route: the HF tokenizer must be asked, and raises its own error if it has one."""


class Route(Protocol):
    """Ids include those that the post-processor adds where `add_special_tokens` is true; nothing is cut off or padded.

    With `split_special_tokens`, special tokens in the text are tokenized like any other text.
    """

    name: str

    def encode_list(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> list[int]:
        """Ids of one text."""

    def encode_array(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> Ids:
        """The same as int32 [n]."""

    def encode_batch(
        self, texts: Sequence[str], add_special_tokens: bool, split_special_tokens: bool
    ) -> tuple[Ids, RowOffsets]:
        """Ids of all texts, int32 [n], and where each begins, int64 [len(texts) + 1]."""

    def info(self) -> dict[str, Any]:
        """What `explain` shows of this route."""


class AcceleratedRoute(Route, Protocol):
    """A route that is not HF's own tokenizer at its own pace.

    special_tokens_added: how many ids the post-processor adds to one text.
    """

    special_tokens_added: int
    token_type_ids_are_zero: bool

    def encode_limited(
        self, text: str, add_special_tokens: bool, split_special_tokens: bool, limit: int | None, keep_end: bool
    ) -> list[int]:
        """`encode_list` of which at most `limit` ids are kept, special tokens included; the text's end if `keep_end`.

        `limit` must be more than `special_tokens_added`. Raises CannotEncodeError where HF must be asked.
        """

    def chunks(self, chars: int) -> int:
        """Into how many chunks a text of that length is cut."""
