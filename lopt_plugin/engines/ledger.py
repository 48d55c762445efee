"""The form of an engine's ledger: every name of the engine that this package calls, hooks or overrides.

Each engine has its own in `ledger.py`, and the code looks the names up there, so that no entry can go stale.
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple


class TouchedName(NamedTuple):
    """One name of an engine.

    name        "module:attribute", in the form that `pkgutil.resolve_name` reads
    why         what the plugin uses it for
    since       the oldest release known to match this description
    without     what happens if it is missing or different
    until       what has to happen before this entry can go
    parameters  of a function that is hooked, overridden or called; a final "..." stands for any others
    """

    name: str
    why: str
    since: str
    without: str
    until: str
    parameters: tuple[str, ...] = ()

    def resolve(self) -> Any:
        """The object itself. Raises ImportError or AttributeError if it is missing."""
        return pkgutil.resolve_name(self.name)

    def resolve_as_known(self) -> Any:
        """The object itself. Raises TypeError if it has other parameters, or as `resolve`."""
        found = self.resolve()
        if self.parameters:
            actual = tuple(inspect.signature(found).parameters)
            known = self.parameters
            if known[-1] == "...":
                known = known[:-1]
                actual = actual[: len(known)]
            if actual != known:
                raise TypeError(f"{self.name} has the parameters {actual}, not {known}")
        return found


def differences(ledger: Iterable[TouchedName], engine_version: str) -> list[str]:
    """How the engine's modules differ from the ledger, among those that this process has imported."""
    from packaging.version import InvalidVersion, Version

    try:
        installed = Version(engine_version)
    except InvalidVersion:
        installed = None
    found = []
    for touched in ledger:
        is_newer = installed is not None and installed < Version(touched.since)
        if touched.name.partition(":")[0] in sys.modules and not is_newer:
            try:
                touched.resolve_as_known()
            except Exception as error:
                found.append(str(error))
    return found
