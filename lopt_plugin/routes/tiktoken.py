"""The reference for a `tiktoken.Encoding`: that object itself."""

from __future__ import annotations

from typing import Any

from .request import EncodeRequest


class TiktokenRoute:
    """Finds all special tokens of an encoding in a text, or, with `split_special_tokens`, none of them."""

    name = "tiktoken"

    def __init__(self, encoding: Any) -> None:
        self.encoding = encoding

    def encode_list(self, text: str, request: EncodeRequest) -> list[int]:
        if request.split_special_tokens:
            ids: list[int] = self.encoding.encode_ordinary(text)
        else:
            ids = self.encoding.encode(text, allowed_special="all")
        return ids
