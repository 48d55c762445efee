"""The installed version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version as metadata_version


def version() -> str:
    """The version of the installed package; "0+not.installed" in a checkout that is not installed."""
    try:
        return metadata_version("lopt_plugin")
    except PackageNotFoundError:
        return "0+not.installed"
