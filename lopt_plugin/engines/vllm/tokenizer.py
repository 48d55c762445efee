"""The tokenizer of the mode `lopt`: loaded by vLLM, accelerated, and marked as safe for threads.

vLLM tokenizes in several threads, and makes a pool of deep copies of a tokenizer, because transformers sets truncation
and padding in the Rust tokenizer before every call. An accelerated tokenizer changes that state only under a lock, and
its other methods only read, so one object serves all threads without a pool.
"""

from __future__ import annotations

import contextlib
import copy
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..acceleration import Acceleration
from ..subclass import Brand, rebrand
from . import ledger

# The releases that the engine tests were run with. docs/engines/versions.md has the dates.
TESTED_VERSIONS = ("0.24.0", "0.32.0")

# The methods that vLLM's TokenizerPool calls on one of its copies.
POOLED_METHODS = (
    "__call__",
    "apply_chat_template",
    "batch_decode",
    "batch_encode",
    "convert_ids_to_tokens",
    "convert_tokens_to_ids",
    "convert_tokens_to_string",
    "decode",
    "encode",
)
# Those that our renderer calls as well.
RENDERER_METHODS = ("_lopt_prefetch", "_lopt_encode_alone")


class LoptTokenizer:
    """The class that the mode `lopt` loads. Never instantiated: vLLM calls `from_pretrained` only."""

    @classmethod
    def from_pretrained(cls, path_or_repo_id: str | Path, *args: Any, **kwargs: Any) -> Any:
        """The tokenizer that vLLM's mode `auto` loads with these arguments, accelerated if it can be."""
        get_tokenizer = ledger.GET_TOKENIZER.resolve()
        return accelerated(get_tokenizer(path_or_repo_id, *args, tokenizer_mode="auto", **kwargs), shared=False)


acceleration = Acceleration("vLLM", ledger.LEDGER, TESTED_VERSIONS)
logger = acceleration.logger

# Tokenizers that remain as vLLM made them, and why.
_left_alone: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def accelerated(tokenizer: Any, *, shared: bool) -> Any:
    """A tokenizer that vLLM has loaded (or None), accelerated if possible. Never raises.

    `shared`: others hold the tokenizer, so its Rust tokenizer is copied.
    """
    if tokenizer is None or hasattr(tokenizer, "lopt") or why_left_alone(tokenizer) is not None:
        return tokenizer
    outcome = acceleration.run(tokenizer, _thread_safe, shared=shared, of_encodings=ledger.ENCODING_METHODS)
    if not isinstance(outcome, str):
        return outcome
    with contextlib.suppress(TypeError):  # it has no hash, or no weak references
        _left_alone[tokenizer] = outcome
    return tokenizer


def why_left_alone(tokenizer: Any) -> str | None:
    """Why `accelerated` returned the tokenizer as it was; None if it was not asked."""
    with contextlib.suppress(TypeError):
        return _left_alone.get(tokenizer)
    return None


def freeze_calls(tokenizer: Any) -> None:
    """Protects the tokenizer's calls from later changes of its vocabulary, in place.

    The processor of a multimodal model changes its tokenizer (`add_tokens`, `add_bos_token`) after vLLM has made its
    pool. The copies in the pool answer the calls and do not change. Here, a single copy answers them.
    """
    as_loaded = copy.deepcopy(tokenizer)
    rebrand(tokenizer, _answered_by_copy).__dict__["_lopt_as_loaded"] = as_loaded


def _thread_safe(accelerated: Any) -> Brand:
    marks: tuple[type, ...] = ()
    try:
        marks = (ledger.THREAD_SAFE_MIXIN.resolve(),)
    except Exception:
        logger.exception("lopt_plugin: could not mark the tokenizer as thread-safe; vLLM makes deep copies of it")
    return Brand(accelerated.__name__, marks, {})


def _answered_by_copy(thread_safe: Any) -> Brand:
    names = [name for name in (*POOLED_METHODS, *RENDERER_METHODS) if hasattr(thread_safe, name)]
    attributes: dict[str, Any] = {name: _method_of_copy(name) for name in names}
    # These methods only call the copy's, which are ours.
    attributes["_lopt_is_ours"] = True
    attributes["lopt"] = property(lambda self: self._lopt_as_loaded.lopt)
    return Brand(thread_safe.__name__, (), attributes)


def _method_of_copy(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._lopt_as_loaded, name)(*args, **kwargs)

    method.__name__ = name
    return method
