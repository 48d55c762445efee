"""Whether there is a device, asked without starting what a process may not want to have started."""

from __future__ import annotations

import os
import sys
from typing import Any


class DeviceUnavailableError(Exception):
    """There is no device to compute on, or it cannot do this; the message says why."""


def interpreted() -> bool:
    """Whether Triton's interpreter stands in for a device: TRITON_INTERPRET=1."""
    return os.environ.get("TRITON_INTERPRET", "") == "1"


def device_in_use() -> bool:
    """Whether this process computes on CUDA already. Imports and starts nothing: a fork would not survive it."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized() and torch.cuda.is_available())


def find_device(wanted: Any = None) -> Any:
    """The torch.device to compute on: `wanted`, else the current CUDA device, or the CPU in the interpreter.

    Raises DeviceUnavailableError where there is none.
    """
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise DeviceUnavailableError(f"{error.name or error} is not installed") from error
    if interpreted():
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise DeviceUnavailableError("torch sees no CUDA device")
    device = torch.device("cuda" if wanted is None else wanted)
    if device.type != "cuda":
        raise DeviceUnavailableError(f"there are no kernels for the device {device}")
    if device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    if device.index >= torch.cuda.device_count():
        raise DeviceUnavailableError(f"there is no device {device}")
    if torch.cuda.get_device_capability(device) < (7, 5):
        raise DeviceUnavailableError(f"{device} is older than compute capability 7.5")
    return device


def device_name(device: Any) -> str:
    """What is computed on, with the processors beside it and the versions, for what was measured on both."""
    import torch
    import triton

    from ... import __version__

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "Triton's interpreter"
    versions = f"lopt_plugin {__version__}, torch {torch.__version__}, triton {triton.__version__}"
    return f"{name}; {os.cpu_count()} processors; {versions}"


def numbered(device: str) -> str:
    """A CUDA device's name with its number: "cuda" is the one that is current now, in this thread."""
    torch = sys.modules.get("torch")
    if device != "cuda" or interpreted() or torch is None or not torch.cuda.is_initialized():
        return device
    return f"cuda:{torch.cuda.current_device()}"
