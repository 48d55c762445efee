"""What every engine does with a tokenizer that it has loaded: accelerate it or leave it alone, and say which."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .active_line import active_line


class Accelerated(NamedTuple):
    """A tokenizer of ours that does not take the route `hf`, and what it says of itself."""

    tokenizer: Any
    explained: dict[str, Any]


def accelerated_or_reason(
    tokenizer: Any, accelerate: Callable[[Any], Any], logger: logging.Logger
) -> Accelerated | str:
    """What `accelerate` makes of the tokenizer; the reason if it has to be left alone. Never raises.

    `accelerate` may have changed its argument where a reason is returned.
    """
    reason = _why_not(tokenizer)
    if reason is not None:
        return reason
    try:
        accelerated = accelerate(tokenizer)
        explained: dict[str, Any] = accelerated.lopt.explain()
    except Exception as error:
        logger.exception("lopt_plugin: the tokenizer could not be accelerated")
        return f"{type(error).__name__}: {error}"
    return str(explained["reason"]) if explained["route"] == "hf" else Accelerated(accelerated, explained)


def _why_not(tokenizer: Any) -> str | None:
    from transformers import PreTrainedTokenizerFast

    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return f"{type(tokenizer).__name__} does not run on the tokenizers library"
    if type(tokenizer._tokenizer).__module__.partition(".")[0] == "fastokens":
        return "fastokens is in its place"
    return None


class ActiveLines:
    """The lines of one process about its tokenizers, in the engine's log; each is said once."""

    def __init__(
        self, engine: str, engine_version: Callable[[], str], tried_versions: Sequence[str], logger: logging.Logger
    ) -> None:
        self._engine = engine
        self._engine_version = engine_version
        self._tried_versions = tried_versions
        self._logger = logger
        self._said: set[str] = set()

    def say(self, tokenizer: Any, what: str, explained: dict[str, Any] | None) -> None:
        """Says what became of it; a warning where it is not accelerated, so that there is nothing `explained`."""
        version = self._engine_version()
        message = active_line(self._engine, version, self._tried_versions, tokenizer, what, explained)
        if message not in self._said:
            self._said.add(message)
            self._logger.log(logging.INFO if explained is not None else logging.WARNING, "%s", message)
