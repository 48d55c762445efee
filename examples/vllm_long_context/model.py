"""The model that a user names, or the demo's tiny one where none is named or it cannot be had."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "vllm_demo"
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "2"}


def model_or_tiny(name: str | None) -> str:
    """`name` if it is a folder, or a repository of the hub that can be reached or is cached; else a tiny model.

    That one has random weights, and is built anew in the folder for temporary files. It needs nothing from a network.
    """
    if name is not None:
        if Path(name).is_dir() or _on_the_hub(name):
            return name
        print(f"{name} cannot be had here; the tiny demo model takes its place", file=sys.stderr)
    sys.path.insert(0, str(DEMO))
    from tiny_model import build

    for variable, value in OFFLINE.items():
        os.environ.setdefault(variable, value)
    return str(build(Path(tempfile.gettempdir()) / f"lopt_tiny_model_{os.getuid()}"))


def _on_the_hub(name: str) -> bool:
    from huggingface_hub import hf_hub_download

    try:
        hf_hub_download(name, "config.json")
    except Exception:
        return False
    return True
