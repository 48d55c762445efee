"""The ids of a request on SGLang's way to its scheduler, which makes `array("q", ids)` of a list, element by element.

SGLang's functions get such an array instead, of which they make a copy of memory: of a list, from whomever it is, in
one native pass; of texts that SGLang asks the tokenizer for, without a list. Only where SGLang itself asks for the ids
of a request, in its own process: what is sent is the same, and what the tokenizer returns to anybody else is too.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .sglang_batches import ids_ahead

try:
    from ..native._core import copy_ids
except ImportError:
    copy_ids = None  # type: ignore[assignment]

_MANAGER = "sglang.srt.managers.tokenizer_manager"
# Where lists of ids become arrays, and where the tokenizer is asked.
CREATE_TOKENIZED = f"{_MANAGER}:TokenizerManager._create_tokenized_object"
TOKENIZE_TEXTS = f"{_MANAGER}:TokenizerManager._tokenize_texts"

_ZERO = array("q", [0])
_wants_arrays = ContextVar("lopt_sglang_wants_arrays", default=False)


def makes_arrays() -> bool:
    """Whether this process sends requests to a scheduler, and the installed SGLang has arrays in them (from 0.5.14)."""
    manager = sys.modules.get(_MANAGER)
    if manager is None or copy_ids is None:
        return False
    request: Any = manager.TokenizedGenerateReqInput
    return "array" in str(request.__annotations__["input_ids"])


def create_tokenized_with_array(
    create: Callable[..., Any], manager: Any, obj: Any, input_text: Any, input_ids: Any, *args: Any, **kwargs: Any
) -> Any:
    """Around `_create_tokenized_object`."""
    return create(manager, obj, input_text, array_of(input_ids), *args, **kwargs)


async def tokenize_texts_to_arrays(tokenize: Callable[..., Any], manager: Any, *args: Any, **kwargs: Any) -> Any:
    """Around `_tokenize_texts`, all of which is done as ever."""
    # The processors of multimodal models look at what they are given.
    asked = _wants_arrays.set(getattr(manager, "mm_processor", None) is None)
    try:
        return await tokenize(manager, *args, **kwargs)
    finally:
        _wants_arrays.reset(asked)


def answer_with_arrays(tokenizer: Any, texts: Any) -> dict[str, Any] | None:
    """What SGLang reads of `tokenizer(texts)`; None where it has to be asked."""
    if not _wants_arrays.get() or type(texts) is not list or not texts or any(type(text) is not str for text in texts):
        return None
    if len(texts) == 1:
        ready = ids_ahead(texts[0], tokenizer)
        if ready is not None:
            return {"input_ids": [array_of(ready)]}
        alone = tokenizer._lopt_array(texts[0])
        if alone is None:
            return None
        ids = _ZERO * len(alone)
        copy_ids(alone, ids)
        return {"input_ids": [ids]}
    batch = tokenizer._lopt_batch(texts)
    if batch is None:
        return None
    ids = _ZERO * len(batch.ids)
    copy_ids(batch.ids, ids)
    ends = batch.row_offsets.tolist()
    return {"input_ids": list(map(ids.__getitem__, map(slice, ends[:-1], ends[1:])))}


def array_of(ids: Any) -> Any:
    """`array("q", ids)` of a list of ints; the argument itself where it is something else, for SGLang to say what."""
    if type(ids) is not list:
        return ids
    made = _ZERO * len(ids)
    return made if copy_ids(ids, made) else ids
