"""Texts that are cut into parts that overlap: what return_overflowing_tokens gives beside the first part of each.

The rules are those of `Encoding.truncate` and `Encoding.merge_with` of the reference library.
"""

from __future__ import annotations

from collections.abc import Sequence

from .pipeline import Template

Range = tuple[int, int]


def part_ranges(length: int, kept: int, stride: int, keep_end: bool) -> list[Range]:
    """The ids of each part of a text of `length` ids: the first, of `kept` ids, then those that overflow.

    Neighbours have `stride` ids in common, which must be fewer than `kept`; with `keep_end` they go from the end of the
    text to its beginning. If nothing is kept, all of the text overflows.
    """
    if length <= kept:
        return [(0, length)]
    if kept == 0:
        return [(0, 0), (0, length)]
    ranges = []
    for at in range(0, length, kept - stride):
        first = max(length - at - kept, 0) if keep_end else at
        last = length - at if keep_end else min(at + kept, length)
        ranges.append((first, last))
        if first == 0 if keep_end else last == length:
            break
    return ranges


def combined(template: Template, counts: Sequence[int]) -> list[tuple[int, ...]]:
    """The rows that texts of so many parts make, in order: for each of them, which part of each text it has."""
    main: tuple[int, ...] = (0,) * len(counts)
    overflowing: list[tuple[int, ...]] = []
    for piece in template.pieces:
        if piece.text is None:
            continue
        place = piece.text
        overflowing_here = range(1, counts[place])

        def having(row: tuple[int, ...], part: int, place: int = place) -> tuple[int, ...]:
            return (*row[:place], part, *row[place + 1 :])

        merged = [having(row, part) for row in overflowing for part in (0, *overflowing_here)]
        overflowing = merged + [having(main, part) for part in overflowing_here]
    return [main, *overflowing]
