"""What a call leaves behind in the truncation and padding of the Rust tokenizer, and so in the files that are saved.

transformers sets both before every call and does not put them back. A call that the Encoder answers only notes what it
would have set, as long as that does not change from call to call; who saves or copies the tokenizer settles it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .routes.hf import HfRoute, set_call_state
from .row_request import Padding

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    _Settings = tuple[dict[str, Any] | None, dict[str, Any] | None]


class CallSettings(NamedTuple):
    """What a call asks for; `strategy` and `max_length` are None where nothing is cut."""

    strategy: str | None
    max_length: int | None
    stride: int
    side: str
    padding: Padding | None

    def of_backend(self) -> _Settings:
        """As the Rust tokenizer has them."""
        truncation: dict[str, Any] | None = None
        if self.max_length is not None:
            truncation = {
                "max_length": self.max_length,
                "direction": self.side,
                "stride": self.stride,
                "strategy": self.strategy,
            }
        if self.padding is None:
            return truncation, None
        length, multiple, side, number, type_id, token = self.padding
        return truncation, {
            "length": length,
            "direction": side,
            "pad_id": number,
            "pad_token": token,
            "pad_type_id": type_id,
            "pad_to_multiple_of": multiple,
        }


class LeftSettings:
    """The settings of the last calls. `call` is None where those calls neither cut nor padded."""

    def __init__(self, backend: Tokenizer, call: CallSettings | None) -> None:
        self.call = call
        self._before = backend.truncation, backend.padding

    def settle(self, hf: HfRoute) -> None:
        """Makes the backend as transformers would have left it, unless somebody has set it otherwise meanwhile."""

        def set_both() -> None:
            backend = hf.backend
            if (backend.truncation, backend.padding) == self._before:
                truncation, padding = (None, None) if self.call is None else self.call.of_backend()
                set_call_state(backend, truncation, padding, backend.encode_special_tokens)

        hf.call(set_both)
