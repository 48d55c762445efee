"""The versions of CPython that are supported, and those of them that this machine has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def pythons() -> list[tuple[str, str]]:
    """The versions of CPython that this machine has, from the path or from pyenv, and their interpreters."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = []
    for version in PYTHONS:
        candidates = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))]
        found += [(version, candidate) for candidate in candidates if _runs(candidate)][:1]
    return found


def _runs(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
