"""What transformers would have left in the truncation and padding of the Rust tokenizer, and so in saved files.

transformers sets both before every call and does not put them back. A call that the Encoder answers only notes what
transformers would have set. Whoever saves or copies the tokenizer has it written.
"""

from __future__ import annotations

from tokenizers import Tokenizer

from ..routes.hf import HfRoute, set_call_state
from ..routes.request import EncodeRequest


class PendingCallState:
    """Truncation and padding that transformers would have written to the backend since its last call.

    request: what the last call asked for; None where it neither truncated nor padded.
    """

    def __init__(self, backend: Tokenizer, request: EncodeRequest | None) -> None:
        self.request = request
        self._before = backend.truncation, backend.padding

    def write(self, hf: HfRoute) -> None:
        """Leaves the backend as transformers would have left it, unless somebody has changed it in between."""

        def set_both() -> None:
            backend = hf.backend
            if (backend.truncation, backend.padding) == self._before:
                truncation = None if self.request is None else self.request.truncation_settings()
                padding = None if self.request is None else self.request.padding_settings()
                set_call_state(backend, truncation, padding, backend.encode_special_tokens)

        hf.call(set_both)
