"""Negative values that replace a word's id, and their meanings."""

from __future__ import annotations

MISSED = -1  # not an entry of the vocabulary, and without a slot of the word cache
SEPARATOR = -2  # the byte after a document, which stands for no token
SET_ASIDE = -3  # too long for the merge kernels: the host merges it
FIRST_SLOT = -4  # FIRST_SLOT - s: the ids are in slot s of the word cache
