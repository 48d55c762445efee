"""Apostrophes of contractions, on masks of 64 bytes a lane."""

from __future__ import annotations

import triton
import triton.language as tl

from .bit_masks import from_before


@triton.jit
def contractions_of_others(of_two, of_three, other, ascii_space, other_before, ascii_space_before):
    """Apostrophes of contractions that begin a pre-token: neither an other character nor a space is before them."""
    free = ~from_before(other | ascii_space, other_before | ascii_space_before, 1)
    return of_two & free, of_three & free


@triton.jit
def next_links(links, two, three):
    """The apostrophes right after the contractions of `links`."""
    return (((links & two) << 2) | ((links & three) << 3)) & (two | three)


@triton.jit
def every_second(first, two, three):
    """Every second link of chains of contractions, from their first links on."""
    found = first
    front = next_links(next_links(first, two, three), two, three)
    while tl.max((front != 0).to(tl.int32), 0) > 0:
        found |= front
        front = next_links(next_links(front, two, three), two, three)
    return found
