"""The ids of a request on SGLang's way to its scheduler, which makes `array("q", ids)` of the list, element by element.

SGLang's function gets that array instead, made in one native pass: what it makes of it is a copy of memory. The lists
that tokenizers return stay lists, and no other process sees a difference.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from typing import Any

try:
    from ..native._core import copy_ids
except ImportError:
    copy_ids = None  # type: ignore[assignment]

# Where lists of ids, from whomever they are, become arrays.
CREATE_TOKENIZED = "sglang.srt.managers.tokenizer_manager:TokenizerManager._create_tokenized_object"

_ZERO = array("q", [0])


def makes_arrays() -> bool:
    """Whether this process sends requests to a scheduler, and the installed SGLang has arrays in them (from 0.5.14)."""
    manager = sys.modules.get(CREATE_TOKENIZED.partition(":")[0])
    if manager is None or copy_ids is None:
        return False
    request: Any = manager.TokenizedGenerateReqInput
    return "array" in str(request.__annotations__["input_ids"])


def create_tokenized_with_array(
    create: Callable[..., Any], manager: Any, obj: Any, input_text: Any, input_ids: Any, *args: Any, **kwargs: Any
) -> Any:
    """Around `_create_tokenized_object`."""
    return create(manager, obj, input_text, array_of(input_ids), *args, **kwargs)


def array_of(ids: Any) -> Any:
    """`array("q", ids)` of a list of ints; the argument itself where it is something else, for SGLang to say what."""
    if type(ids) is not list:
        return ids
    made = _ZERO * len(ids)
    return made if copy_ids(ids, made) else ids
