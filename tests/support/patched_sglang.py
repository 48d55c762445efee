"""A copy of the installed SGLang with a patch of patches/sglang, to stand before it on the path."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

PATCHES = Path(__file__).resolve().parents[2] / "patches" / "sglang"


def patched_files(patch: Path) -> list[str]:
    """The files that it changes, below site-packages."""
    lines = patch.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("+++ b/python/") for line in lines if line.startswith("+++ ")]


def patched_sglang(folder: Path, *patches: Path) -> Path:
    """`folder`, which then holds the package: its files as links, the patched ones written out.

    Raises subprocess.CalledProcessError for a patch that does not apply.
    """
    spec = find_spec("sglang")
    assert spec is not None
    assert spec.origin is not None
    installed = Path(spec.origin).parent
    shutil.copytree(
        installed, folder / "sglang", copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__")
    )
    # `git apply` below a repository would look for the files from its root.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    for patch in patches:
        for name in patched_files(patch):
            file = folder / name
            if file.is_symlink():
                file.unlink()
                shutil.copyfile(installed.parent / name, file)
        subprocess.run(
            ["git", "apply", "-p2", str(patch)], cwd=folder, env=environment, check=True, capture_output=True, text=True
        )
    return folder


def path_with(folder: Path) -> str:
    """PYTHONPATH with the folder before what is on it, and so before what is installed."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
