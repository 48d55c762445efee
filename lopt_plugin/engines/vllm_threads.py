"""What spares vLLM its pool of deep copies of the tokenizer.

vLLM tokenizes in several threads, and puts a pool of copies behind the tokenizer because transformers sets truncation
and padding in the Rust tokenizer before every call. An accelerated tokenizer touches that state only under a lock,
whatever the call, and the methods that do not encode only read: one object serves all threads.
"""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("vllm.lopt_plugin")

# What vLLM's TokenizerPool asks one of its copies to do.
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
# What our renderer asks besides.
RENDERER_METHODS = ("_lopt_encode_ahead", "_lopt_encode_alone")


def marked_thread_safe(tokenizer: Any) -> Any:
    """The accelerated tokenizer, marked so that vLLM makes no pool for it; as it is where it cannot be marked."""
    accelerated: Any = type(tokenizer)
    try:
        tokenizer.__class__ = _thread_safe_class(accelerated)
    except Exception:
        logger.exception("lopt_plugin: vLLM will keep deep copies of the tokenizer")
    return tokenizer


def keep_calls_as_they_are(tokenizer: Any) -> None:
    """Lets later changes of the tokenizer change its vocabulary, but not what its calls give; in place.

    Processors of multimodal models change the tokenizer that they are given (`add_tokens`, `add_bos_token`), after
    vLLM has made its pool. The copies in the pool, which answer the calls, stay as they were; so do the answers here,
    by one copy.
    """
    as_loaded = copy.deepcopy(tokenizer)
    thread_safe: Any = type(tokenizer)
    tokenizer.__class__ = _kept_class(thread_safe)
    tokenizer.__dict__["_lopt_as_loaded"] = as_loaded


@functools.cache
def _thread_safe_class(accelerated: Any) -> Any:
    from vllm.tokenizers.hf import ThreadSafeHFTokenizerMixin

    def reduce(self: Any) -> tuple[Any, ...]:
        unmarked: Any = object.__new__(accelerated)
        unmarked.__dict__.update(self.__dict__)
        return marked_thread_safe, (unmarked,)

    namespace = {"__module__": __name__, "__doc__": accelerated.__doc__, "__reduce__": reduce}
    return type(accelerated.__name__, (accelerated, ThreadSafeHFTokenizerMixin), namespace)


@functools.cache
def _kept_class(thread_safe: Any) -> Any:
    def reduce(self: Any) -> tuple[Any, ...]:
        changed: Any = object.__new__(thread_safe)
        changed.__dict__.update(self.__dict__)
        as_loaded = changed.__dict__.pop("_lopt_as_loaded")
        return _kept, (changed, as_loaded)

    names = [name for name in (*POOLED_METHODS, *RENDERER_METHODS) if hasattr(thread_safe, name)]
    namespace: dict[str, Any] = {name: _asks_the_copy(name) for name in names}
    namespace |= {
        "__module__": __name__,
        "__doc__": thread_safe.__doc__,
        "__reduce__": reduce,
        # Its calls are the copy's: they do nothing of their own.
        "_lopt_is_ours": True,
        "lopt": property(lambda self: self._lopt_as_loaded.lopt),
    }
    return type(thread_safe.__name__, (thread_safe,), namespace)


def _asks_the_copy(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._lopt_as_loaded, name)(*args, **kwargs)

    method.__name__ = name
    return method


def _kept(changed: Any, as_loaded: Any) -> Any:
    thread_safe: Any = type(changed)
    changed.__class__ = _kept_class(thread_safe)
    changed.__dict__["_lopt_as_loaded"] = as_loaded
    return changed
