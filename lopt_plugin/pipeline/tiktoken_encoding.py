r"""Reads a `tiktoken.Encoding` into a Pipeline.

tiktoken has no list of merges. Of all neighbours in a pre-token whose combined bytes are an entry, it joins those whose
entry has the lowest rank, leftmost first. The core has a rank for each pair of entries, so every division of an entry t
into two entries l and r becomes a merge, in the order of the ranks of t. Both give the same tokens:

- As long as nothing is joined across the ends of a sequence of bytes, the joins inside it are those of these bytes
  alone: of all possible joins, the first one inside the sequence is also the first one of the sequence by itself.
- So if l and r are ever adjacent, the bytes of t alone become l and r too, and then t. The steps of t alone are
  deterministic and pass through at most one state of two tokens. So only one division of each entry can ever occur.
- Therefore the ranks of merges compare as the ranks of entries do, and equal ones are the same pair, leftmost first in
  both.

A pre-token that is an entry is that entry, in both (`ignore_merges`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from ..unicode_tables.byte_level import alphabet
from ..unicode_tables.tiktoken_classes import characters_that_differ
from .added_tokens import check_length
from .component_state import Unsupported
from .model_json import Merges
from .pipeline import AddedToken, BytePairModel, Pipeline, PostProcessor
from .split_patterns import COVERING, MATCHERS

# The form of cl100k that takes all white space at the end of a text as one pre-token.
CL100K_TIKTOKEN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
SCANNERS = {
    **{pattern: name for pattern, name in MATCHERS.items() if name in COVERING},
    CL100K_TIKTOKEN: "cl100k_tiktoken",
}
# Longer entries would have too many divisions.
_LONGEST_ENTRY = 4096


def read_encoding(encoding: Any) -> Pipeline:
    """The pipeline of an encoding. Raises Unsupported if it is left to tiktoken."""
    try:
        pattern, ranks, special = encoding._pat_str, encoding._mergeable_ranks, encoding._special_tokens
    except AttributeError as error:
        raise Unsupported(f"this release of tiktoken is unknown: {error}") from error
    scanner = SCANNERS.get(pattern)
    if scanner is None:
        raise Unsupported(f"split pattern {pattern!r} is not on the allow-list")
    differ = characters_that_differ(with_han=scanner == "kimi")
    if differ:
        raise Unsupported(f"tiktoken and tokenizers have {differ:,} characters in different classes")
    added_tokens = _special_tokens(special)
    vocabulary = _names(ranks)
    merges = json.dumps(list(_merges(vocabulary)), separators=(",", ":"))
    return Pipeline(
        normalizer=(),
        scanner=scanner,
        refinements=(),
        add_prefix_space=False,
        model=BytePairModel(vocabulary, Merges(merges.encode()), ignore_merges=True),
        added_tokens=added_tokens,
        post_processor=PostProcessor(),
    )


def _special_tokens(ids: dict[str, int]) -> tuple[AddedToken, ...]:
    """Special tokens, as added tokens that are matched in the raw text.

    If one is a prefix of another, which of them tiktoken finds depends on the order of a hash table.
    """
    in_order = sorted(ids)
    for one, next_one in itertools.pairwise(in_order):
        if next_one.startswith(one):
            raise Unsupported(f"the special token {one!r} is a prefix of another one, {next_one!r}")
    if "" in ids:
        raise Unsupported("a special token is empty")
    tokens = [AddedToken(content, ids[content], False, False, False, False, True) for content in in_order]
    for token in tokens:
        check_length(token)
    return tuple(tokens)


def _names(ranks: dict[bytes, int]) -> dict[str, int]:
    """The ids by the names of entries in the byte-level alphabet, lowest rank first."""
    if len(set(ranks.values())) != len(ranks):
        raise Unsupported("two entries have the same rank")
    longest = max(map(len, ranks), default=0)
    if longest > _LONGEST_ENTRY:
        raise Unsupported(f"an entry has {longest:,} bytes, more than {_LONGEST_ENTRY:,}")
    stand_ins = dict(enumerate(alphabet()))
    return {
        entry.decode("latin-1").translate(stand_ins): rank
        for entry, rank in sorted(ranks.items(), key=lambda item: item[1])
    }


def _merges(vocabulary: dict[str, int]) -> Iterator[str]:
    """Each "left right": no name holds a space."""
    for name in vocabulary:
        for at in range(1, len(name)):
            left, right = name[:at], name[at:]
            if left in vocabulary and right in vocabulary:
                yield f"{left} {right}"
