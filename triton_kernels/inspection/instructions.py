"""Count the instructions of masks and boundaries per byte of text. Compiles without running, so it needs no GPU.

    python -m lopt_plugin.triton_kernels.inspection.instructions [90 ...]

An instruction of a lane with 64 bytes counts 1/64 per byte. This counts the instructions of the compiled kernels,
except fillers: each loop once (the only loops, over chains of contractions in o200k, do not run at all for most texts),
and both sides of each branch. The exit code is 1 if a pattern exceeds the limit (CEILING), or if a kernel spills.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ..classify import character_masks, kernel as classify
from ..common.limits import PATTERNS
from ..common.variant import Variant
from ..compact import kernel as compact
from ..pretokenize import kernel as pretokenize
from .compiled import compiled, read, reader_or_exit
from .resources import resources_of

CEILING = 150
ARCHITECTURES = (90,)
_LANES = 32
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@\S+\s+)?([A-Z][A-Z0-9_]*)", re.MULTILINE)
_FILLERS = ("NOP",)


def instructions(binary: bytes, reader: Path) -> int:
    """Instructions of a compiled kernel, each counted once."""
    found: list[str] = _INSTRUCTION.findall(read(binary, "-sass", reader))
    return sum(name not in _FILLERS for name in found)


def of_pattern(variants: list[Variant], pattern: str) -> list[Variant]:
    """The variants that a batch of this pattern launches for every tile."""
    tiled = (variant for variant in variants if "TILE" in variant.constants)
    return [variant for variant in tiled if variant.constants.get("PATTERN", pattern) == pattern]


def stages_of(pattern: str) -> tuple[list[Variant], list[Variant], list[Variant]]:
    """The kernels of a pattern, from bytes to start bits: masks, summary, starts."""
    masks = of_pattern(classify.variants() + character_masks.variants(), pattern)
    boundaries = of_pattern(pretokenize.variants(), pattern)
    return masks, boundaries[:-1], boundaries[-1:]


def _measured(variant: Variant, architecture: int, reader: Path) -> tuple[float, int, int]:
    """Instructions a byte, registers, bytes spilled."""
    binary = compiled(variant, architecture).asm["cubin"]
    resources = resources_of(binary, reader)
    a_byte = instructions(binary, reader) * _LANES * variant.warps / variant.constants["TILE"]
    return a_byte, resources.registers, resources.spilled


def main() -> None:
    architectures = [int(argument) for argument in sys.argv[1:]] or list(ARCHITECTURES)
    reader = reader_or_exit()
    too_much = False
    names = ("masks", "summary", "starts", "together", "compaction", "registers", "spilled")
    print(f"{'instructions a byte':19}" + "".join(f"{name:>11}" for name in names))
    for architecture in architectures:
        for pattern in PATTERNS:
            after, *stages = [
                [_measured(variant, architecture, reader) for variant in variants]
                for variants in (of_pattern(compact.variants(), pattern), *stages_of(pattern))
            ]
            columns = [sum(count for count, _, _ in of_stage) for of_stage in stages]
            together = sum(columns)
            kernels = [*after, *(kernel for of_stage in stages for kernel in of_stage)]
            registers, spilled = max(k[1] for k in kernels), sum(k[2] for k in kernels)
            figures = [*columns, together, sum(count for count, _, _ in after)]
            print(
                f"sm_{architecture:<3} {pattern:12}" + "".join(f"{figure:11.1f}" for figure in figures),
                f"{registers:10}{spilled:11}",
                flush=True,
            )
            too_much |= together > CEILING or spilled > 0
    sys.exit(too_much)


if __name__ == "__main__":
    main()
