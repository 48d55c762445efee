"""The context of all figures: the machine, and the versions of the libraries."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

LIBRARIES = (
    *("lopt-plugin", "tokenizers", "transformers", "numpy", "torch", "vllm", "sglang"),
    *("tiktoken", "fastokens", "gigatoken", "bpe-openai"),
)
_DRIVER_WAIT_S = 10


def machine() -> dict[str, Any]:
    """The machine and the versions of the libraries, for JSON."""
    installed = {one.name.lower(): one.version for one in importlib.metadata.distributions()}
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "processor": _processor(),
        "cpus": os.cpu_count(),
        "gpus": gpus(),
        "load_average": list(os.getloadavg()),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: installed.get(name) for name in LIBRARIES},
    }


def machine_line() -> str:
    """The same in one line, with a warning if the machine is busy."""
    found = machine()
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items() if version)
    line = f"{found['processor']}, {found['cpus']} CPUs, Python {found['python']}; {versions}"
    busy = found["load_average"][0]
    return line + (f"\nWARNING: the machine is busy (load average {busy:.1f})" if busy > 0.5 else "")


def gpus() -> list[str]:
    """Names of the NVIDIA GPUs, from the driver's own tool, because importing torch takes seconds."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_DRIVER_WAIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in ended.stdout.splitlines() if line.strip()]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
