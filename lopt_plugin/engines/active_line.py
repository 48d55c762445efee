"""What is the same for every engine: the line that says which tokenizer is active, and where our log goes."""

from __future__ import annotations

import logging
from typing import Any


def active_line(
    engine: str,
    engine_version: str,
    known_versions: tuple[tuple[int, ...], tuple[int, ...]],
    tokenizer: Any,
    what: str,
    explained: dict[str, Any] | None,
) -> str:
    """The line about one tokenizer: `what` became of it, the threads of its `explained` route, and all versions.

    `known_versions` are the oldest and the newest release of the engine that was tried, both of the same length.
    """
    from importlib.metadata import version

    from .. import __version__

    name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
    threads = "" if explained is None else f", up to {explained['threads']} threads a prompt"
    versions = f"tokenizers {version('tokenizers')}, transformers {version('transformers')}, {engine} {engine_version}"
    unknown = _unknown_version(engine_version, *known_versions)
    return f"lopt_plugin {__version__}: tokenizer {name} {what}{threads} ({versions}{unknown})"


def show_our_log(engine_logger: str) -> None:
    """Gives the library's log the engine's handlers, without what the line above says too."""
    ours = logging.getLogger("lopt_plugin")
    ours.parent = logging.getLogger(engine_logger)
    if ours.level == logging.NOTSET and not ours.isEnabledFor(logging.DEBUG):
        ours.setLevel(logging.WARNING)


def _unknown_version(engine_version: str, oldest: tuple[int, ...], newest: tuple[int, ...]) -> str:
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(engine_version).release[: len(oldest)]
    except InvalidVersion:
        release = (0,)
    if oldest <= release <= newest:
        return ""
    known = [".".join(map(str, version)) for version in (oldest, newest)]
    return f", a version that is not known to work; {known[0]} to {known[1]} are"
