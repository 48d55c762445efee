"""The memory of a word cache."""

from __future__ import annotations

from dataclasses import dataclass

import torch

# Bytes of the longest word that fits into a slot.
KEY_BYTES = 32
# Bytes of the shortest word in each list of `claim`; a missed word has two at least.
LEAST_BYTES = (2, 17, 33, 65, 257)
# Words that `claim` takes at a time.
TILE = 256


@dataclass(frozen=True)
class WordCache:
    """The tensors of a cache; see `kernel`. Its contents never change ids, so it may be emptied at any time."""

    states: torch.Tensor
    keys: torch.Tensor
    key_counts: torch.Tensor
    key_ids: torch.Tensor

    @classmethod
    def empty(cls, slots: int, device: torch.device, *, most_tile: int = TILE) -> WordCache:
        """slots: a power of two, 168 bytes each. most_tile: the largest tile that `claim` will be called with."""
        if slots < 1 or slots & (slots - 1):
            raise ValueError(f"the number of slots must be a power of two, not {slots}")
        return cls(
            torch.zeros(slots + most_tile, dtype=torch.int32, device=device),
            torch.zeros((slots, KEY_BYTES // 8), dtype=torch.int64, device=device),
            torch.zeros(slots, dtype=torch.int32, device=device),
            torch.zeros((slots, KEY_BYTES), dtype=torch.int32, device=device),
        )

    @property
    def slots(self) -> int:
        return len(self.keys)

    def bytes(self) -> int:
        return sum(tensor.nbytes for tensor in (self.states, self.keys, self.key_counts, self.key_ids))

    def clear(self) -> None:
        self.states.zero_()
