"""What a call of a transformers tokenizer gives, exceptions and warnings included, in a form that `==` compares."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from transformers import BatchEncoding

ENCODING_PARTS = (
    "ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "overflowing", "word_ids",
    "sequence_ids", "n_sequences",
)  # fmt: skip


def outcome(function: Callable[[], Any]) -> tuple[str, Any]:
    handler = logging.Handler()
    messages: list[str] = []
    handler.emit = lambda record: messages.append(without_our_prefix(record.getMessage()))  # type: ignore[method-assign]
    logger = logging.getLogger("transformers")
    logger.addHandler(handler)
    try:
        result = function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic in the Rust library is no Exception
        return "raised", (type(error), without_our_prefix(str(error)), messages)
    finally:
        logger.removeHandler(handler)
    return "returned", (comparable(result), messages)


def without_our_prefix(message: str) -> str:
    """Some messages of transformers tell the name of the tokenizer's class, or of the result's."""
    return message.replace("Lopt", "").replace("LazyBatchEncoding", "BatchEncoding")


def comparable(value: Any) -> Any:
    if isinstance(value, BatchEncoding):
        return "BatchEncoding", [(key, comparable(item)) for key, item in value.items()], value.is_fast
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if hasattr(value, "dtype"):
        return type(value), str(value.dtype), tuple(value.shape), comparable(value.tolist())
    if hasattr(value, "type_ids"):
        return {name: comparable(getattr(value, name)) for name in ENCODING_PARTS}
    return type(value), value


def whole(result: BatchEncoding) -> Any:
    """Everything that can be asked of a BatchEncoding, for the first rows, tokens, words and characters."""
    rows = range(min(3, len(result.encodings)))
    asked: dict[str, Any] = {
        "data": comparable(result),
        "encodings": comparable(result.encodings),
        "n_sequences": result.n_sequences,
    }
    for row in rows:
        for name in ("tokens", "word_ids", "sequence_ids"):
            asked[f"{name} {row}"] = getattr(result, name)(row)
        length = len(result.encodings[row].ids)
        for token in (0, length // 2, length - 1):
            for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
                asked[f"{name} {row} {token}"] = outcome(lambda n=name, r=row, t=token: getattr(result, n)(r, t))
        for place in (0, 1, 7):
            for sequence in range(result.n_sequences or 1):
                for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
                    asked[f"{name} {row} {place} {sequence}"] = outcome(
                        lambda n=name, r=row, p=place, s=sequence: getattr(result, n)(r, p, s)
                    )
    return asked
