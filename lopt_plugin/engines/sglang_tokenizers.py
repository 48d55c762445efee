"""What becomes of a tokenizer that SGLang has loaded: the very object, accelerated, under the name of its class.

SGLang hands the object on before and after (processors hold it), tells tokenizers by the names of their classes, and
pickles them.
"""

from __future__ import annotations

import functools
import logging
import os
from typing import Any

from ..observer import Observer
from . import prometheus
from .acceleration import Accelerated, ActiveLines, accelerated_or_reason
from .sglang_ids import answer_with_arrays

# Those that ran the tests of the server. The README's table says when.
TRIED_VERSIONS = ("0.5.23",)

# Below "sglang", so that SGLang's own handlers and levels apply.
logger = logging.getLogger("sglang.lopt_plugin")


def sglang_version() -> str:
    """Of the installed SGLang."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sglang")
    except PackageNotFoundError:
        return "of unknown version"


_lines = ActiveLines("SGLang", sglang_version, TRIED_VERSIONS, logger)


def accelerated(tokenizer: Any) -> Any:
    """The very object, accelerated if it can be; says which. Never raises."""
    if tokenizer is None or hasattr(tokenizer, "lopt"):
        return tokenizer
    its_class, attributes = type(tokenizer), dict(getattr(tokenizer, "__dict__", {}))
    outcome = accelerated_or_reason(tokenizer, _accelerate, logger)
    # SGLang's log does not tell its processes apart.
    process = f"in process {os.getpid()}"
    if isinstance(outcome, Accelerated):
        explained = outcome.explained
        tokenizer.lopt.observer = _observer()
        _lines.say(tokenizer, f"{process} takes the {explained['route']} route", explained)
        return tokenizer
    if type(tokenizer) is not its_class:
        _undo(tokenizer, its_class, attributes)
    _lines.say(tokenizer, f"{process} stays as SGLang made it: {outcome}", None)
    observer = _observer()
    if observer is not None:
        # Once, when it is loaded: its calls do not come by here.
        observer.fell_back(outcome)
    return tokenizer


def _accelerate(tokenizer: Any) -> Any:
    from ..settings import Settings
    from ..tokenizer import accelerate_in_place

    return _under_its_own_name(accelerate_in_place(tokenizer, Settings.read()))


def _observer() -> Observer | None:
    # Set by `--enable-metrics`: /metrics adds up what all processes write there. Without it nobody would read them, and
    # prometheus_client must not be imported before SGLang has set it.
    return prometheus.observer() if os.environ.get("PROMETHEUS_MULTIPROC_DIR") else None


def _undo(tokenizer: Any, its_class: type, attributes: dict[str, Any]) -> None:
    tokenizer.__class__ = its_class
    tokenizer.__dict__.clear()
    tokenizer.__dict__.update(attributes)


def _under_its_own_name(tokenizer: Any) -> Any:
    """The very object, whose class has the name that it had before: SGLang and its models tell tokenizers by it."""
    accelerated: Any = type(tokenizer)
    tokenizer.__class__ = _class_under_its_own_name(accelerated)
    return tokenizer


@functools.cache
def _class_under_its_own_name(accelerated: Any) -> type:
    original = accelerated._lopt_original_class

    def reduce(self: Any) -> tuple[Any, ...]:
        plain: Any = object.__new__(accelerated)
        plain.__dict__.update(self.__dict__)
        return _under_its_own_name, (plain,)

    def call(self: Any, text: Any = None, *args: Any, **kwargs: Any) -> Any:
        answer = None if args or kwargs else answer_with_arrays(self, text)
        return accelerated.__call__(self, text, *args, **kwargs) if answer is None else answer

    namespace = {
        "__module__": original.__module__,
        "__qualname__": original.__qualname__,
        "__doc__": original.__doc__,
        "__reduce__": reduce,
        "__call__": call,
        "_lopt_is_ours": True,
    }
    return type(original.__name__, (accelerated,), namespace)
