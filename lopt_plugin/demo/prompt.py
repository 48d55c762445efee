"""A prompt of about so many tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .tiny_model import MAX_MODEL_LEN

ABOUT_TOKENS = 106_000
_SAMPLE_CHARS = 100_000


@dataclass(frozen=True)
class LongText:
    """The text, and how to speak of it."""

    text: str
    name: str


# A text of about that many characters; a shorter one only if there are no more.
TextSource = Callable[[int], LongText]


class NoTokensError(Exception):
    """There is nothing to tokenize in the text."""


def read_prompt(source: TextSource, tokenizer: Any, tokens: int) -> tuple[LongText, list[int]]:
    """A prompt of about `tokens` tokens that the tiny model has room for, and its ids by the tokenizer.

    Raises NoTokensError.
    """
    sample = source(_SAMPLE_CHARS).text
    count = len(tokenizer(sample)["input_ids"])
    if not sample or not count:
        raise NoTokensError("the text has no tokens")
    chars = max(1, len(sample) * tokens // count)
    while True:
        prompt = source(chars)
        ids: list[int] = tokenizer(prompt.text)["input_ids"]
        if len(ids) < MAX_MODEL_LEN:
            return prompt, ids
        chars = len(prompt.text) * 9 // 10
