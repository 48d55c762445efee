"""Added tokens, and the rules by which Hugging Face finds them.

There are two passes over a text, each leftmost-longest over its set of contents (Aho-Corasick):

1. the tokens with `normalized` false, in the raw text;
2. the others, their contents normalized as the text is, in the normalized form of each stretch that the first pass
   left.

What lies between tokens goes on to the pre-tokenizer, each stretch by itself. Of a match:

- under `encode_special_tokens` a special token is passed over: its characters are text, and nothing is found in them;
- `single_word`: it is passed over in the same way when the character before or behind it, in the text of its pass, is
  a word character (WORD). A stretch's edge is not one: the first pass's tokens are no neighbours in the second;
- `lstrip` and `rstrip`: it takes the blanks (STRIP_SPACE) on that side with it, to the left no further than to the
  end of the token before it.
"""

from __future__ import annotations

from typing import Any

import tokenizers

from .components import AddedToken
from .unsupported import Unsupported

_FLAGS = {"content", "single_word", "lstrip", "rstrip", "normalized", "special"}


def read_added_tokens(
    tokenizer: tokenizers.Tokenizer,
) -> tuple[AddedToken, ...] | Unsupported:
    """Added tokens in order of their ids."""
    by_id: dict[int, Any] = tokenizer.get_added_tokens_decoder()
    if by_id:
        flags = set(next(iter(by_id.values())).__getstate__())
        if flags != _FLAGS:
            return Unsupported(f"added tokens have other flags than expected: {', '.join(sorted(flags ^ _FLAGS))}")
    normalizer = tokenizer.normalizer
    found: dict[tuple[bool, str], AddedToken] = {}
    for number, token in sorted(by_id.items()):
        content = token.content
        if token.normalized and normalizer is not None:
            content = normalizer.normalize_str(content)
        if not content:
            return Unsupported(f"the added token {token.content!r} is empty after normalization")
        if (token.normalized, content) in found:
            # One pass cannot tell the two apart: which it finds is an accident of Hugging Face's order.
            return Unsupported(f"two added tokens have the content {content!r} after normalization")
        found[token.normalized, content] = AddedToken(
            content, number, token.single_word, token.lstrip, token.rstrip, token.normalized, token.special
        )
    return tuple(found.values())
