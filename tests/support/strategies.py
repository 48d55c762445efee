"""Hypothesis strategies: texts over the characters and snippets that a tokenizer can tell apart."""

from __future__ import annotations

import representatives
from hypothesis import strategies as st

characters = st.one_of(
    st.sampled_from(representatives.characters()),
    st.characters(exclude_categories=["Cs"]),
)
snippets = st.sampled_from(representatives.SNIPPETS)


def runs(longest: int = 70) -> st.SearchStrategy[str]:
    """One character many times."""
    return st.builds(str.__mul__, characters, st.integers(1, longest))


def texts(max_pieces: int = 40) -> st.SearchStrategy[str]:
    pieces = st.one_of(characters, snippets, runs())
    return st.lists(pieces, max_size=max_pieces).map("".join)
