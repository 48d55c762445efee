"""The truncation and padding that transformers would have left in the Rust tokenizer, and so in saved files.

transformers sets both before every call and does not reset them. A call that the Encoder answers only records what
transformers would have set. It is written when the tokenizer is saved or copied.
"""

from __future__ import annotations

from ..routes.hf import HfRoute, call_state, set_call_state
from ..routes.request import EncodeRequest


class PendingCallState:
    """Truncation and padding that transformers would have written to the backend since its last call.

    request: the request of the last call; None if it neither truncated nor padded.
    """

    def __init__(self, hf: HfRoute, request: EncodeRequest | None) -> None:
        self.request = request
        self._hf = hf
        # Under the lock, because a reference call in another thread sets its own for its duration.
        self._before = hf.call(lambda: call_state(hf.backend))[:2]

    def write(self) -> None:
        """Leaves the backend as transformers would have left it, unless it was changed in between."""
        self._hf.call(self._write)

    def _write(self) -> None:
        *found, split_special_tokens = call_state(self._hf.backend)
        if tuple(found) == self._before:
            truncation = None if self.request is None else self.request.truncation_settings()
            padding = None if self.request is None else self.request.padding_settings()
            set_call_state(self._hf.backend, truncation, padding, split_special_tokens)
