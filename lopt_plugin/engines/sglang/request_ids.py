"""The ids of a request on their way to SGLang's scheduler: SGLang builds `array("q", ids)` element by element.

The hooks pass such an array to SGLang, which copies it as one block of memory. Any list is converted in one native
pass; texts that SGLang asks the tokenizer for become an array without an intermediate list. The hooks act only when
SGLang itself asks for the ids of a request. The scheduler, and all other callers of the tokenizer, receive the same as
before.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from . import ledger
from .prefetch import prefetched_ids

try:
    from ...native._core import copy_ids
except ImportError:
    copy_ids = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ZERO = array("q", [0])
_wants_arrays = ContextVar("lopt_sglang_wants_arrays", default=False)


def requests_have_arrays() -> bool:
    """Whether this process sends requests to a scheduler, with their ids in arrays."""
    if ledger.MANAGER not in sys.modules or copy_ids is None:
        return False
    return "array" in str(ledger.REQUEST.resolve().__annotations__["input_ids"])


def create_tokenized_with_array(
    create: Callable[..., Any], manager: Any, obj: Any, input_text: Any, input_ids: Any, *args: Any, **kwargs: Any
) -> Any:
    """Hook around `_create_tokenized_object`."""
    return create(manager, obj, input_text, array_of(input_ids), *args, **kwargs)


async def tokenize_texts_to_arrays(tokenize: Callable[..., Any], manager: Any, *args: Any, **kwargs: Any) -> Any:
    """Hook around `_tokenize_texts`."""
    # The processor of a multimodal model reads the ids and expects a list.
    before = _wants_arrays.set(getattr(manager, "mm_processor", None) is None)
    try:
        return await tokenize(manager, *args, **kwargs)
    finally:
        _wants_arrays.reset(before)


def answer_with_arrays(tokenizer: Any, texts: Any) -> dict[str, Any] | None:
    """What SGLang reads of `tokenizer(texts)`; None if the tokenizer has to be called."""
    if not _wants_arrays.get() or type(texts) is not list or not texts or any(type(text) is not str for text in texts):
        return None
    if len(texts) == 1:
        prefetched = prefetched_ids(texts[0], tokenizer)
        if prefetched is not None:
            return {"input_ids": [array_of(prefetched)]}
        alone = tokenizer._lopt_array(texts[0])
        return None if alone is None else {"input_ids": [_of_numpy(alone)]}
    batch = tokenizer._lopt_batch(texts)
    if batch is None:
        return None
    ids, ends = _of_numpy(batch.ids), batch.row_offsets.tolist()
    return {"input_ids": list(map(ids.__getitem__, map(slice, ends[:-1], ends[1:])))}


def array_of(ids: Any) -> Any:
    """`array("q", ids)` of a list of ints; the argument itself if it is anything else, so that SGLang reports it."""
    if type(ids) is not list:
        return ids
    made = _ZERO * len(ids)
    return made if copy_ids(ids, made) else ids


def _of_numpy(ids: npt.NDArray[np.int32]) -> array[int]:
    made = array("q")
    made.frombytes(ids.astype("q").tobytes())
    return made
