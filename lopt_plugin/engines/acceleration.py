"""What every engine does with a tokenizer that it has loaded: accelerate it or leave it alone, and log which."""

from __future__ import annotations

import contextlib
import importlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

from .._version import version as our_version
from ..encoder.metrics import Observer
from ..settings import Settings


class Acceleration:
    """Accelerates the tokenizers of one engine in this process, and logs each outcome once.

    engine, module   the engine's name, and the name of its module
    tested_versions  the releases of the engine that the tests were run with; the log says if this is another one
    logger           below the engine's own, so that the engine's handlers and levels apply
    """

    def __init__(self, engine: str, module: str, tested_versions: Sequence[str], logger: logging.Logger) -> None:
        self._engine = engine
        self._module = module
        self._tested_versions = tested_versions
        self._logger = logger
        self._logged: set[str] = set()

    def engine_version(self) -> str:
        """The version of the installed engine."""
        try:
            return str(importlib.import_module(self._module).__version__)
        except (ImportError, AttributeError):
            return "of unknown version"

    def run(self, tokenizer: Any, accelerate: Callable[[Any], Any], where: str = "") -> Any | str:
        """The tokenizer that `accelerate` returns, or a str: why it cannot be used. Never raises.

        `accelerate` may have changed its argument when a reason is returned. `where` follows the name in the log.
        """
        reason = _why_not(tokenizer)
        if reason is None:
            try:
                accelerated = accelerate(tokenizer)
                explained = accelerated.lopt.explain()
            except Exception as error:
                self._logger.exception("lopt_plugin: could not accelerate the tokenizer")
                reason = f"{type(error).__name__}: {error}"
            else:
                if explained["route"] != "hf":
                    route = f"takes the {explained['route']} route, up to {explained['threads']} threads per prompt"
                    self.log(tokenizer, where + route, logging.INFO)
                    return accelerated
                reason = str(explained["reason"])
        self.log(tokenizer, f"{where}is not accelerated; {self._engine} uses it unchanged: {reason}", logging.WARNING)
        return reason

    def log(self, tokenizer: Any, outcome: str, level: int) -> None:
        """Logs the outcome for one tokenizer, with all versions; each line once per process."""
        from importlib.metadata import version

        name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
        versions = [f"{library} {version(library)}" for library in ("tokenizers", "transformers")]
        versions.append(f"{self._engine} {self.engine_version()}")
        line = f"lopt_plugin {our_version()}: tokenizer {name} {outcome} ({', '.join(versions)}{self._untested()})"
        if line not in self._logged:
            self._logged.add(line)
            self._logger.log(level, "%s", line)

    def _untested(self) -> str:
        from packaging.version import InvalidVersion, Version

        with contextlib.suppress(InvalidVersion):
            if Version(self.engine_version()).release in [Version(one).release for one in self._tested_versions]:
                return ""
        return f"; tested with {' and '.join(self._tested_versions)}"


# Only the next three functions look inside `tokenizer.lopt`.
def settings_of(tokenizer: Any) -> Settings:
    """The settings of an accelerated tokenizer."""
    settings: Settings = tokenizer.lopt._runner.settings
    return settings


def is_native(tokenizer: Any) -> bool:
    """Whether the native route answers the calls of an accelerated tokenizer, so that they need no thread of Python."""
    return bool(tokenizer._lopt_direct) and tokenizer.lopt._runner.state.snapshot().native is not None


def observe(tokenizer: Any, observer: Observer | None) -> None:
    """Sets who counts the calls of an accelerated tokenizer."""
    tokenizer.lopt._runner.observer = observer


def join_engine_log(engine_logger: str) -> None:
    """Sends the library's log to the engine's handlers: warnings only, as the outcome is logged above."""
    ours = logging.getLogger("lopt_plugin")
    ours.parent = logging.getLogger(engine_logger)
    if ours.level == logging.NOTSET and not ours.isEnabledFor(logging.DEBUG):
        ours.setLevel(logging.WARNING)


def _why_not(tokenizer: Any) -> str | None:
    from transformers import PreTrainedTokenizerFast

    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        return f"{type(tokenizer).__name__} does not run on the tokenizers library"
    if type(tokenizer._tokenizer).__module__.partition(".")[0] == "fastokens":
        return "fastokens has replaced its backend"
    return None
