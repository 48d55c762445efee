"""Texts that grow, and what is wanted of a text besides its ids: how many there are, and where to cut.

All of it stands on seams: places at which a text may be taken apart, whatever stands before and behind
(native/seam.hpp has the rule and the reasons). Where a tokenizer has no native route nothing is known about its seams,
and Hugging Face encodes the whole text again.
"""

from .counting import count, count_batch, count_until, cut
from .incremental import IncrementalEncoder
from .intervals import Intervals
from .settled import IncrementalState

__all__ = [
    "IncrementalEncoder",
    "IncrementalState",
    "Intervals",
    "count",
    "count_batch",
    "count_until",
    "cut",
]
