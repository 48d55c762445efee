"""Routes from text to the ids of one tokenizer. All give the same ids; they differ in speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .request import EncodeRequest

Ids = npt.NDArray[np.int32]
RowOffsets = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.int32]


class Route(Protocol):
    """Ids include those of the post-processor where `add_special_tokens` is true. Nothing is truncated or padded.

    With `split_special_tokens`, special tokens in the text are tokenized like any other text. An accelerated route
    raises NeedsReference for a text that is not for it.
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

    def encode_truncated(self, text: str, request: EncodeRequest) -> list[int]:
        """Ids of one text, truncated; of the request, padding and columns are not looked at."""


class AcceleratedRoute(Route, Protocol):
    """A route other than the reference itself."""

    def info(self) -> dict[str, Any]:
        """What `explain` shows of this route."""

    def chunks(self, chars: int) -> int:
        """Into how many chunks a text of that length is divided."""
