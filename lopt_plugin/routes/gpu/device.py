"""Finds the device, without initializing CUDA if the process may not want that."""

from __future__ import annotations

import os
import sys
from typing import Any


class GpuUnavailableError(Exception):
    """There is no GPU route for this tokenizer or machine; the message says why."""


def interpreted() -> bool:
    """Whether Triton's interpreter replaces a device: TRITON_INTERPRET=1."""
    return os.environ.get("TRITON_INTERPRET", "") == "1"


def device_in_use() -> bool:
    """Whether this process already uses CUDA. Imports and initializes nothing, which would break a later fork."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_initialized() and torch.cuda.is_available())


def find_device(wanted: Any = None) -> Any:
    """The torch.device to use: `wanted`, else the current CUDA device; the CPU in the interpreter. May start CUDA.

    Raises GpuUnavailableError.
    """
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise GpuUnavailableError(f"{error.name or error} is not installed") from error
    if interpreted():
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise GpuUnavailableError("torch sees no CUDA device")
    device = torch.device("cuda" if wanted is None else wanted)
    if device.type != "cuda":
        raise GpuUnavailableError(f"there are no kernels for the device {device}")
    if device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    if device.index >= torch.cuda.device_count():
        raise GpuUnavailableError(f"there is no device {device}")
    if torch.cuda.get_device_capability(device) < (7, 5):
        raise GpuUnavailableError(f"{device} is older than compute capability 7.5")
    return device


def device_name(device: Any) -> str:
    """The name of the product that a torch.device is."""
    import torch

    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else "Triton's interpreter"


def numbered(device: str) -> str:
    """The device's name with its number; "cuda" means this thread's current device."""
    torch = sys.modules.get("torch")
    if device != "cuda" or interpreted() or torch is None or not torch.cuda.is_initialized():
        return device
    return f"cuda:{torch.cuda.current_device()}"
