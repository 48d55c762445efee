"""What no version of a stage can be faster than: the bytes it must move, and the instructions that it has.

Bytes: each input read once and each output written once, by the module docstrings of the kernels, over the bandwidth of
a copy on the same device. Tables count as read from the L2 cache, so not at all. Instructions: those of the compiled
kernels, each counted once, over what the device issues: loops that run longer, and branches that are not taken, make
that an estimate. Those of boundaries are of ASCII tiles where most of the text is in such, else of the others.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lopt_plugin.routes.device.availability import interpreted
from lopt_plugin.triton_kernels.limits import MASK_TILE

_COPY_BYTES = 1 << 30
_ISSUED_A_CYCLE = 4  # warps, by each multiprocessor


@dataclass(frozen=True)
class Device:
    """bandwidth: bytes a second, read and written together; issues: instructions of a warp a second; None: unknown."""

    name: str
    cache_bytes: int | None = None
    bandwidth: float | None = None
    issues: float | None = None
    architecture: int | None = None


def device_of(device: Any) -> Device:
    """What the device can do; its copy is measured."""
    if interpreted():
        return Device("Triton's interpreter, no GPU: no figure here says anything about speed")
    import torch

    properties = torch.cuda.get_device_properties(device)
    size = min(_COPY_BYTES, properties.total_memory // 8)
    source = torch.randint(0, 256, (size,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(10):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) / 1e3)
    hertz = _clock()
    issues = None if hertz is None else properties.multi_processor_count * _ISSUED_A_CYCLE * hertz
    cache = getattr(properties, "L2_cache_size", None)
    return Device(
        properties.name, cache, 2 * size / sorted(seconds)[5], issues, properties.major * 10 + properties.minor
    )


def _clock() -> float | None:
    """The highest clock of the multiprocessors, Hz; asked of the driver's own tool, None without it."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    command = [tool, "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
        return float(said.split()[0]) * 1e6
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


@dataclass(frozen=True)
class Amounts:
    """Of a batch: bytes of text, words, missed words, words that are merged, ids; whether most tiles are not ASCII."""

    text: int
    words: int
    missed: int
    merged: int
    ids: int
    is_mixed: bool = False


def mostly_not_ascii(texts: Sequence[str]) -> bool:
    """Whether most tiles of the texts hold another character than those of ASCII."""
    data = "".join(texts).encode()
    tiles = [data[begin : begin + MASK_TILE] for begin in range(0, len(data), MASK_TILE)]
    return sum(not tile.isascii() for tile in tiles) > len(tiles) / 2


def least_bytes(stage: str, of: Amounts) -> int:
    """Bytes that a stage must read and write in the device's memory; 0 for stages that are not the device's."""
    return {
        "copy": of.text,
        "boundaries": of.text + of.text // 8,
        "compact": of.text // 8 + 4 * of.words,
        "lookup": of.text + 8 * of.words + 4 * of.missed,
        "cache and merges": 12 * of.missed + 64 * of.merged,
        "emit": 16 * of.words + 4 * of.ids,
    }.get(stage, 0)


def least_instructions(stage: str, of: Amounts, pattern: str, count: Callable[[Any], int | None]) -> float | None:
    """Instructions of warps that a stage has; None where that is not known."""
    from lopt_plugin.triton_kernels.compact import kernel as compact
    from lopt_plugin.triton_kernels.instructions import ASCII, OTHERS, of_pattern, stages_of
    from lopt_plugin.triton_kernels.lookup import kernel as lookup

    tiles = OTHERS if of.is_mixed else ASCII
    variants, items = {
        "boundaries": ([v for kernels in stages_of(tiles, pattern).values() for v in kernels], of.text),
        "compact": (compact.variants(), of.text),
        "lookup": (lookup.variants(), of.words),
    }.get(stage, ([], 0))
    counts = [(count(variant), variant) for variant in of_pattern(variants, pattern)]
    if not counts or any(found is None for found, _ in counts):
        return None
    return sum((found or 0) * v.warps * items / v.constants["TILE"] for found, v in counts)


def counter(device: Device) -> Callable[[Any], int | None]:
    """Counts the instructions of a `Variant`, compiled for the device; None without one or without the tools."""
    from lopt_plugin.triton_kernels import compiled
    from lopt_plugin.triton_kernels.instructions import instructions

    reader, architecture = compiled.reader(), device.architecture
    if architecture is None or reader is None:
        return lambda variant: None

    def count(variant: Any) -> int | None:
        try:
            return instructions(compiled.compiled(variant, architecture).asm["cubin"], reader)
        except Exception:
            return None

    return count
