"""Lets SGLang's server run on a CPU, for tests and demos: imported by every Python of the environment, before sglang.

    python sglang_on_cpu.py      installs it into the environment of this Python (as a .pth file)

SGLang's builds on PyPI are for GPUs. This module provides the modules they import:
  - `sgl_kernel`, the kernels: a module whose functions raise NotImplementedError when called. The models of our demo
    and tests call none of them.
  - the schemas of torchvision's operators, which its CUDA build cannot load with a CPU build of torch.
It leaves either one alone if the real one can be loaded.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

KERNELS = "sgl_kernel"
# SGLang has its own replacement for this module if it cannot be imported.
NOT_THERE = f"{KERNELS}.scalar_type"
VERSION_OF_KERNELS = "0.4.10"


class MissingKernels(ModuleType):
    """A module in which every name is a function that raises NotImplementedError."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name.startswith("__"):
            raise AttributeError(name)

        def missing(*args: Any, **kwargs: Any) -> NoReturn:
            raise NotImplementedError(f"{self.__name__}.{name} is not available on a CPU")

        return missing


class KernelsFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the kernels; last in sys.meta_path, so that installed ones come first."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of `sgl_kernel` and of the modules below it."""
        if name == NOT_THERE or not (name == KERNELS or name.startswith(f"{KERNELS}.")):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """A module without functions."""
        module = MissingKernels(spec.name)
        module.__version__ = VERSION_OF_KERNELS  # type: ignore[attr-defined]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is executed."""


class TorchvisionSchemas(importlib.abc.MetaPathFinder):
    """Declares torchvision's operators right before torchvision is imported, if its own library cannot."""

    library: Any = None

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Never finds anything."""
        if name != "torchvision":
            return
        sys.meta_path.remove(self)
        import torch

        spec = importlib.util.find_spec(name)
        if torch.version.cuda is not None or spec is None or spec.origin is None:
            return
        version = (Path(spec.origin).parent / "version.py").read_text()
        if "cuda: Optional[str] = None" in version or "cuda = None" in version:
            return
        type(self).library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            self.library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def install() -> None:
    """Copies this file, and a .pth file that imports it, to the site-packages of this Python."""
    site_packages = Path(sysconfig.get_paths()["purelib"])
    name = Path(__file__).stem
    shutil.copyfile(__file__, site_packages / f"{name}.py")
    (site_packages / f"{name}.pth").write_text(f"import {name}\n")


if __name__ == "__main__":
    install()
else:
    sys.meta_path.insert(0, TorchvisionSchemas())
    sys.meta_path.append(KernelsFinder())
