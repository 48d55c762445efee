"""Where kernels run in tests: on the GPU where there is one, otherwise in Triton's interpreter.

To be imported before anything that imports triton, which looks at TRITON_INTERPRET then. The interpreter is made faster
in two ways that change no result: the functions that kernels call do not patch triton.language anew at each call (the
kernel's call has), and `associative_scan` combines whole tensors at doubling distances instead of element by element.
The second is also closer to what a GPU does: it holds only for a combine function that is associative.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest
from required import module_or_skip, skip_without

torch = module_or_skip("torch", "LOPT_REQUIRE_KERNELS")
skip_without("triton", "LOPT_REQUIRE_KERNELS")
if not torch.cuda.is_available():
    if "triton" in sys.modules and not os.environ.get("TRITON_INTERPRET"):
        reason = "triton is loaded already, not as an interpreter: TRITON_INTERPRET=1"
        if os.environ.get("LOPT_REQUIRE_KERNELS"):
            pytest.fail(reason)
        pytest.skip(reason, allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"


def to_device(array: np.ndarray[Any, Any]) -> Any:
    return torch.from_numpy(np.array(array)).to(DEVICE)


def guarded(size: int, dtype: torch.dtype, fill: int = -9) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of `size`, and the one around it: 64 elements more at each end."""
    around = torch.full((size + 128,), fill, dtype=dtype, device=DEVICE)
    return around[64 : 64 + size], around


def untouched(around: torch.Tensor, fill: int = -9) -> bool:
    return bool((around[:64] == fill).all() and (around[-64:] == fill).all())


def _let_tensors_count() -> None:
    """Triton 3.6, not 3.9, calls int() on arrays of one element and one dimension, which NumPy 2.4 refuses."""
    from triton.runtime import interpreter

    patch_tensor = interpreter._patch_lang_tensor

    def patch(tensor: Any, scope: Any) -> None:
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patch


if INTERPRETED:
    _let_tensors_count()


def _call_without_patching(self: Any, *args: Any, **kwargs: Any) -> Any:
    from triton.language import core
    from triton.runtime import interpreter

    # In Triton 3.6, not 3.9, the kernel's call leaves triton.language.core to Triton's own functions.
    if core.is_builtin(core.load) and self.fn.__globals__.get("core") is core:
        interpreter._patch_lang(self.fn)
    return self.rewrite()(*args, **kwargs)


def _combine(self: Any, lower: list[Any], upper: list[Any], types: list[Any]) -> list[Any]:
    """The combine function over whole arrays; one of operators only takes NumPy's as they are, which is fast."""
    try:
        combined = self.combine_fn.fn(*lower, *upper)
    except (AttributeError, TypeError, ValueError):
        pairs = [*zip(lower, types, strict=True), *zip(upper, types, strict=True)]
        combined = self.combine_fn(*(self.to_tensor(values, of) for values, of in pairs))
    combined = combined if isinstance(combined, tuple) else (combined,)
    return [values if isinstance(values, np.ndarray) else values.handle.data for values in combined]


def _scan_at_doubling_distances(self: Any, inputs: Any) -> list[Any]:
    size = inputs[0].handle.data.shape[self.axis]
    types = [value.dtype for value in inputs]
    results = [value.handle.data for value in inputs]
    places = np.arange(size).reshape([-1 if axis == self.axis else 1 for axis in range(results[0].ndim)])
    distance = 1
    while distance < size:
        # Whole arrays, as a tensor's shape must be a power of two; what wraps around is not used.
        combined = _combine(self, [np.roll(values, distance, axis=self.axis) for values in results], results, types)
        results = [
            np.where(places < distance, before, values) for before, values in zip(results, combined, strict=True)
        ]
        distance *= 2
    return [self.to_tensor(values, of) for values, of in zip(results, types, strict=True)]


def make_interpreter_faster(patch: pytest.MonkeyPatch) -> None:
    """Until `patch` is undone; nothing on a GPU."""
    if INTERPRETED:
        from triton.runtime import interpreter

        patch.setattr(interpreter.InterpretedFunction, "__call__", _call_without_patching)
        patch.setattr(interpreter.ScanOps, "generic_scan", _scan_at_doubling_distances)
