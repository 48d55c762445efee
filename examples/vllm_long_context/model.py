"""The model that the user names, or the demo's tiny one if none is named or it is not available."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "vllm_demo"
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "2"}


def model_or_tiny(name: str | None) -> str:
    """`name` if it is a folder, or a repository of the hub that is reachable or cached; else a tiny model.

    The tiny model has random weights. It is built in the temporary folder, and needs no network. Exits the program if
    vLLM is missing.
    """
    if importlib.util.find_spec("vllm") is None:
        sys.exit(f"vLLM is not installed for {sys.executable}: pip install 'lopt-plugin[vllm]'")
    if name is not None:
        if Path(name).is_dir() or _on_the_hub(name):
            return name
        print(f"{name} is not available; using the tiny demo model instead", file=sys.stderr)
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
