"""The reference for `kernel.compact`, in NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def compact(starts: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """`word_starts`, int32 [w + 1]: where `starts`, uint8 [n], is not zero, and n."""
    return np.append(np.flatnonzero(starts), len(starts)).astype(np.int32)
