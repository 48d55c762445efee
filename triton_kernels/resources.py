"""Compile every kernel, without a GPU, and say what it takes of one: registers, shared memory, spills.

    python -m lopt_plugin.triton_kernels.resources [80 90 ...]

Compiled as they are launched: pointers to multiples of 16 bytes, as torch allocates them, and numbers of any value.
The exit code is 1 where a kernel spills, that is, keeps in memory what it has no registers for.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from .variant import Variant

MODULES = (
    *(f"{family}.kernel" for family in ("classify", "boundaries", "compact", "lookup", "word_cache", "merge", "emit")),
    "merge.kernel_long",
    "batch",
)
ARCHITECTURES = (80, 90)


@dataclass(frozen=True)
class Resources:
    """registers: of each lane. spilled, shared: bytes, of each lane and of each program."""

    registers: int
    spilled: int
    shared: int


def resource_reader() -> Path | None:
    """The `cuobjdump` that Triton brings with it; None in builds without one."""
    path = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    return path if path.exists() else None


def all_variants() -> list[Variant]:
    modules = [importlib.import_module(f".{module}", __package__) for module in MODULES]
    return [variant for module in modules for variant in module.variants()]


def measure(variant: Variant, architecture: int, reader: Path) -> Resources:
    """Compile for sm_`architecture`. The process must not run Triton's interpreter."""
    names = variant.kernel.arg_names
    signature = {name: "constexpr" if name in variant.constants else variant.types[name] for name in names}
    constants = {(names.index(name),): value for name, value in variant.constants.items()}
    aligned = {(names.index(n),): [["tt.divisibility", 16]] for n in names if signature[n].startswith("*")}
    source = ASTSource(fn=variant.kernel, signature=signature, constexprs=constants, attrs=aligned)
    target = GPUTarget("cuda", architecture, 32)
    built = triton.compile(source, target=target, options={"num_warps": variant.warps})
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "kernel.cubin"
        binary.write_bytes(built.asm["cubin"])
        usage = subprocess.run([reader, "--dump-resource-usage", binary], capture_output=True, text=True, check=True)
    found = re.search(r"REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)", usage.stdout)
    if found is None:
        raise RuntimeError(f"cuobjdump says nothing of resources: {usage.stdout!r}")
    registers, stack, local = map(int, found.groups())
    return Resources(registers, stack + local, built.metadata.shared)


def main() -> None:
    architectures = [int(argument) for argument in sys.argv[1:]] or list(ARCHITECTURES)
    if os.environ.get("TRITON_INTERPRET") == "1":
        sys.exit("kernels are not compiled under TRITON_INTERPRET=1")
    reader = resource_reader()
    if reader is None:
        sys.exit("this build of Triton has no cuobjdump")
    print(f"Triton {triton.__version__}")
    print(f"{'':6} {'kernel':18} {'constants':40} {'registers':>9} {'shared':>7} {'spilled':>7}")
    spilled = 0
    for architecture in architectures:
        for variant in all_variants():
            resources = measure(variant, architecture, reader)
            constants = ", ".join(f"{name}={value}" for name, value in variant.constants.items())
            print(
                f"sm_{architecture:<3} {variant.kernel.__name__:18} {constants:40} "
                f"{resources.registers:9} {resources.shared:7} {resources.spilled:7}",
                flush=True,
            )
            spilled += resources.spilled
    sys.exit(1 if spilled else 0)


if __name__ == "__main__":
    main()
