"""Accelerates a tokenizer that SGLang has loaded: it stays the same object, and its class keeps its name.

SGLang hands the object to others (processors hold it), recognizes tokenizers by their class names, and pickles them.
"""

from __future__ import annotations

import os
from typing import Any

from .. import metrics
from ..acceleration import Acceleration, observe
from ..subclass import Brand
from . import ledger
from .request_ids import answer_with_arrays

# The releases that passed the tests of the server. docs/engines/versions.md has the dates.
TESTED_VERSIONS = ("0.5.23",)

acceleration = Acceleration("SGLang", ledger.LEDGER, TESTED_VERSIONS)


def accelerated(tokenizer: Any) -> Any:
    """The same object, accelerated if possible; logs the outcome. Never raises."""
    if tokenizer is None or hasattr(tokenizer, "lopt"):
        return tokenizer
    # SGLang's log does not name its processes.
    outcome = acceleration.run(tokenizer, _under_original_name, f"in process {os.getpid()} ")
    # `--enable-metrics` sets the variable, and /metrics adds up what all processes write there. Otherwise nobody reads
    # the metrics; prometheus_client must not be imported before SGLang has set it.
    observer = metrics.observer() if os.environ.get("PROMETHEUS_MULTIPROC_DIR") else None
    if not isinstance(outcome, str):
        observe(outcome, observer)
        tokenizer.__class__ = type(outcome)
        tokenizer.__dict__.update(outcome.__dict__)
    elif observer is not None:
        # Once, when it is loaded: its calls cannot be counted.
        observer.fell_back(outcome)
    return tokenizer


def _under_original_name(accelerated: Any) -> Brand:
    original = accelerated._lopt_original_class

    def call(self: Any, text: Any = None, *args: Any, **kwargs: Any) -> Any:
        answer = None if args or kwargs else answer_with_arrays(self, text)
        return accelerated.__call__(self, text, *args, **kwargs) if answer is None else answer

    attributes = {name: getattr(original, name) for name in ("__module__", "__qualname__", "__doc__")}
    return Brand(original.__name__, (), {**attributes, "__call__": call, "_lopt_is_ours": True})
