"""An accelerated tokenizer and its Encoder, which is made for the Rust tokenizer that it has now."""

from __future__ import annotations

from typing import Any

from ..encoder.call_state import PendingCallState
from ..encoder.encoder import Encoder
from ..routes.request import EncodeRequest
from ..settings import Settings


def bind(tokenizer: Any) -> Encoder:
    """Makes the Encoder of an accelerated tokenizer, lazily, and puts it there."""
    settings = tokenizer._lopt_settings or Settings.read()
    encoder = Encoder(tokenizer._tokenizer, settings, lazy=True)
    if tokenizer._lopt_encoder is not None:
        encoder._runner.observer = tokenizer._lopt_encoder._runner.observer
    tokenizer.__dict__["_lopt_settings"] = settings
    tokenizer.__dict__["_lopt_encoder"] = encoder
    return encoder


def note_call_state(tokenizer: Any, encoder: Encoder, request: EncodeRequest) -> None:
    """Notes the truncation and padding that transformers would have written to the backend for this call."""
    wanted = None if request.max_length is None and request.padding is None else request
    pending = encoder._pending_call_state
    if pending is None or (pending.request is not wanted and pending.request != wanted):
        encoder._pending_call_state = PendingCallState(tokenizer._tokenizer, wanted)


def write_call_state(tokenizer: Any) -> None:
    """Leaves the backend of an accelerated tokenizer as transformers would have; it is to be saved or copied."""
    encoder = tokenizer._lopt_encoder
    if encoder is not None and encoder._pending_call_state is not None:
        encoder._pending_call_state.write(encoder._runner.hf)
        encoder._pending_call_state = None
