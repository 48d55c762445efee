"""Count the instructions that masks and boundaries take for a byte of ASCII text. Compiled, not run: needs no GPU.

    python -m lopt_plugin.triton_kernels.instructions [90 ...]

An instruction of a lane that does 64 bytes is 1/64 of one a byte. Counted is what the compiler has made of a kernel,
fillers left out: each loop once (the only one, over chains of contractions in o200k, runs not at all in most texts),
and both sides of each branch. The exit code is 1 where a pattern takes more than CEILING, or a kernel spills.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from .boundaries import bits as boundaries
from .classify import masks
from .compact import bits as compact
from .compiled import compiled, read, reader_or_exit
from .limits import PATTERNS
from .resources import resources_of
from .variant import Variant

CEILING = 45
ARCHITECTURES = (90,)
_LANES = 32
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@\S+\s+)?([A-Z][A-Z0-9_]*)", re.MULTILINE)
_FILLERS = ("NOP",)


def instructions(binary: bytes, reader: Path) -> int:
    """Instructions of a compiled kernel, each once."""
    found: list[str] = _INSTRUCTION.findall(read(binary, "-sass", reader))
    return sum(name not in _FILLERS for name in found)


def _of_pattern(variants: list[Variant], pattern: str) -> list[Variant]:
    return [variant for variant in variants if variant.constants.get("PATTERN", pattern) == pattern]


def main() -> None:
    architectures = [int(argument) for argument in sys.argv[1:]] or list(ARCHITECTURES)
    reader = reader_or_exit()
    too_much = False
    names = ("masks", "summary", "starts", "together", "compaction")
    print("instructions a byte, ASCII " + "".join(f"{name:>11}" for name in names) + f"{'spilled':>9}")
    for architecture in architectures:

        def of(variant: Variant, architecture: int = architecture) -> tuple[float, int]:
            binary = compiled(variant, architecture).asm["cubin"]
            a_byte = instructions(binary, reader) * _LANES * variant.warps / variant.constants["TILE"]
            return a_byte, resources_of(binary, reader).spilled

        after = [of(variant) for variant in compact.variants()]
        for pattern in PATTERNS:
            kernels = _of_pattern([*masks.variants(), *boundaries.variants()], pattern)
            before = [of(variant) for variant in kernels]
            counts = [count for count, _ in before]
            together = sum(counts)
            spilled = sum(bytes_spilled for _, bytes_spilled in (*before, *after))
            columns = [counts[0], sum(counts[1:-1]), counts[-1], together, sum(count for count, _ in after)]
            figures = "".join(f"{column:11.1f}" for column in columns)
            print(f"sm_{architecture:<3} {pattern:19} {figures}{spilled:9}", flush=True)
            too_much |= together > CEILING or spilled > 0
    sys.exit(too_much)


if __name__ == "__main__":
    main()
