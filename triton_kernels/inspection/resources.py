"""Compile every kernel without a GPU, and print the resources it uses: registers, shared memory, spills, fences.

    python -m lopt_plugin.triton_kernels.inspection.resources [80 90 ...]

Compiled as they are launched: pointers are multiples of 16 bytes, as torch allocates them, and numbers have any value.
The exit code is 1 if a kernel spills, that is, keeps in memory what does not fit into registers, or if it orders its
memory accesses for other blocks: their results are read one launch later, and on sm_90 each such fence empties the L1
cache of the multiprocessor.
"""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import triton

from ..common.variant import Variant
from .compiled import compiled, read, reader_or_exit

MODULES = (
    *(f"{family}.kernel" for family in ("classify", "compact", "lookup", "word_cache", "merge", "emit")),
    *("classify.character_masks", "pretokenize.kernel", "pretokenize.carries", "batch.buffers"),
)
ARCHITECTURES = (80, 90)


@dataclass(frozen=True)
class Resources:
    """registers: of each lane. spilled, shared: bytes; of each lane, and of each program. fences: instructions."""

    registers: int
    spilled: int
    shared: int
    fences: int


def all_variants() -> list[Variant]:
    modules = [importlib.import_module(f"..{module}", __package__) for module in MODULES]
    return [variant for module in modules for variant in module.variants()]


def resources_of(binary: bytes, reader: Path) -> Resources:
    """What a compiled kernel uses; `shared` without what is requested at its launch."""
    usage = read(binary, "--dump-resource-usage", reader)
    found = re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", usage)
    if found is None:
        raise RuntimeError(f"cuobjdump printed no resources: {usage!r}")
    registers, stack, shared, local = map(int, found.groups())
    fences = len(re.findall(r"\b(?:MEMBAR|CCTL\.IVALL)", read(binary, "-sass", reader)))
    return Resources(registers, stack + local, shared, fences)


def measure(variant: Variant, architecture: int, reader: Path) -> Resources:
    """Compile for sm_`architecture`. The process must not run Triton's interpreter."""
    built = compiled(variant, architecture)
    return replace(resources_of(built.asm["cubin"], reader), shared=built.metadata.shared)


def main() -> None:
    architectures = [int(argument) for argument in sys.argv[1:]] or list(ARCHITECTURES)
    reader = reader_or_exit()
    print(f"Triton {triton.__version__}")
    print(f"{'':6} {'kernel':18} {'constants':40} {'registers':>9} {'shared':>7} {'spilled':>7} {'fences':>6}")
    faults = 0
    for architecture in architectures:
        for variant in all_variants():
            resources = measure(variant, architecture, reader)
            constants = ", ".join(f"{name}={value}" for name, value in variant.constants.items())
            print(
                f"sm_{architecture:<3} {variant.kernel.__name__:18} {constants:40} "
                f"{resources.registers:9} {resources.shared:7} {resources.spilled:7} {resources.fences:6}",
                flush=True,
            )
            faults += resources.spilled + resources.fences
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
