"""Added tokens, and the rules by which Hugging Face finds them.

There are two passes over a text, each leftmost-longest over its set of contents (Aho-Corasick):

1. the tokens with `normalized` false, in the raw text;
2. the others, their contents normalized as the text is, in the normalized form of each stretch that the first pass
   left.

The text between tokens goes to the pre-tokenizer, one stretch at a time. The flags of a match:

- with `encode_special_tokens`, a special token is skipped: its characters are text, and nothing is found in them;
- `single_word`: the match is skipped in the same way if the character before or after it, in the text of its pass, is a
  word character (WORD). The edge of a stretch is not: tokens of the first pass are not neighbours in the second;
- `lstrip` and `rstrip`: the match takes the white space (STRIP_SPACE) on that side, on the left no further than the end
  of the previous token.
"""

from __future__ import annotations

from typing import Any

import tokenizers

from .component_state import Unsupported, added_tokens_of
from .pipeline import AddedToken

_FLAGS = {"content", "single_word", "lstrip", "rstrip", "normalized", "special"}
# After each partial match of a token, the search goes back by at most this many bytes.
_LONGEST = 1024


def check_length(token: tokenizers.AddedToken | AddedToken) -> None:
    """Raises Unsupported for a token that is too long to be searched for."""
    if len(token.content.encode()) > _LONGEST:
        raise Unsupported(f"the added token {token.content[:20]!r}... has more than {_LONGEST:,} bytes")


def read_added_tokens(tokenizer: tokenizers.Tokenizer) -> tuple[AddedToken, ...]:
    """Added tokens in the order of their ids. Raises Unsupported."""
    by_id: dict[int, Any] = added_tokens_of(tokenizer)
    if by_id:
        flags = set(next(iter(by_id.values())).__getstate__())
        if flags != _FLAGS:
            raise Unsupported(f"added tokens have unexpected flags: {', '.join(sorted(flags ^ _FLAGS))}")
    normalizer = tokenizer.normalizer
    found: dict[tuple[bool, str], AddedToken] = {}
    for number, token in sorted(by_id.items()):
        check_length(token)
        content = token.content
        if token.normalized and normalizer is not None:
            content = normalizer.normalize_str(content)
        if not content:
            raise Unsupported(f"the added token {token.content!r} is empty after normalization")
        if (token.normalized, content) in found:
            # One pass cannot distinguish them; which one Hugging Face finds depends on its internal order.
            raise Unsupported(f"two added tokens have the content {content!r} after normalization")
        found[token.normalized, content] = AddedToken(
            content, number, token.single_word, token.lstrip, token.rstrip, token.normalized, token.special
        )
    return tuple(found.values())
