"""What is the same for every engine: the line that says which tokenizer is active, and where our log goes."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import Any


def active_line(
    engine: str,
    engine_version: str,
    tried_versions: Sequence[str],
    tokenizer: Any,
    what: str,
    explained: dict[str, Any] | None,
) -> str:
    """The line about one tokenizer: `what` became of it, the threads of its `explained` route, and all versions.

    `tried_versions` are the releases of the engine that the tests were run with; another one is named as untried.
    """
    from importlib.metadata import version

    from .. import __version__

    name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
    threads = "" if explained is None else f", up to {explained['threads']} threads a prompt"
    versions = f"tokenizers {version('tokenizers')}, transformers {version('transformers')}, {engine} {engine_version}"
    untried = _untried(engine_version, tried_versions)
    return f"lopt_plugin {__version__}: tokenizer {name} {what}{threads} ({versions}{untried})"


def show_our_log(engine_logger: str) -> None:
    """Gives the library's log the engine's handlers, without what the line above says too."""
    ours = logging.getLogger("lopt_plugin")
    ours.parent = logging.getLogger(engine_logger)
    if ours.level == logging.NOTSET and not ours.isEnabledFor(logging.DEBUG):
        ours.setLevel(logging.WARNING)


def _untried(engine_version: str, tried: Sequence[str]) -> str:
    from packaging.version import InvalidVersion, Version

    with contextlib.suppress(InvalidVersion):
        if Version(engine_version).release in [Version(version).release for version in tried]:
            return ""
    return f", which was not tried; {' and '.join(tried)} {'was' if len(tried) == 1 else 'were'}"
