"""Finds tokenizer classes with their own code between a call and the Rust library."""

from __future__ import annotations

from collections.abc import Sequence

from transformers import PreTrainedTokenizerFast

BEHIND_ENCODE_PLUS = (
    "_encode_plus",
    "_batch_encode_plus",
    "_convert_encoding",
    "set_truncation_and_padding",
    "_eventual_warn_about_too_long_sequence",
)
BEFORE_ENCODE_PLUS = (
    "__call__",
    "encode",
    "encode_plus",
    "batch_encode_plus",
    "_call_one",
    "_get_padding_truncation_strategies",
    "_switch_to_input_mode",
    "_switch_to_target_mode",
)
DECODE = ("decode", "batch_decode", "_decode", "convert_ids_to_tokens")

# In transformers 4 these classes override _encode_plus and _batch_encode_plus only to refuse is_split_into_words.
_HARMLESS = frozenset(
    f"{name}TokenizerFast"
    for name in (
        "Bart", "Blenderbot", "Bloom", "CodeGen", "Cohere", "Deberta", "GPT2", "LED", "Longformer", "Mvp", "Roberta",
        "Whisper",
    )
)  # fmt: skip


def first_override(cls: type, names: Sequence[str]) -> str | None:
    """A sentence that names a method defined between `cls` and transformers' base class; None if there is none.

    Methods of the classes marked `_lopt_is_ours` do not count.
    """
    for name in names:
        for definer in cls.__mro__:
            if "_lopt_is_ours" in vars(definer) or name not in vars(definer):
                continue
            if definer in PreTrainedTokenizerFast.__mro__:
                break
            if definer.__name__ in _HARMLESS and definer.__module__.startswith("transformers.models."):
                continue
            return f"{definer.__name__} overrides {name}"
    return None
