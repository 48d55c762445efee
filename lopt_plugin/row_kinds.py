"""What rows are made of: lists, or arrays where tensors are wanted; the few operations that differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from .routes.native import NativeRoute


class Lists:
    """Rows are lists of int, and lists of (int, int) tuples."""

    as_lists = True

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """The parts one after the other; a single one is not copied."""
        if len(parts) == 1:
            return parts[0]
        joined: list[Any] = []
        for part in parts:
            joined += part
        return joined

    @staticmethod
    def fill(value: int, count: int) -> Any:
        """`count` times the same."""
        return [value] * count

    @staticmethod
    def no_offsets(count: int) -> Any:
        """The offsets of ids that are not of the text."""
        return [(0, 0)] * count

    @staticmethod
    def column(rows: list[Any]) -> Any:
        """The rows of a batch."""
        return rows

    @staticmethod
    def texts(native: NativeRoute, texts: list[str], split_special_tokens: bool) -> list[Any]:
        """Ids of each text alone."""
        return native.text_lists(texts, split_special_tokens)


class Arrays:
    """Rows are arrays, int64 [n] and [n, 2]."""

    as_lists = False

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """The parts one after the other."""
        return np.concatenate(parts, dtype=np.int64)

    @staticmethod
    def fill(value: int, count: int) -> Any:
        """`count` times the same."""
        return np.full(count, value, dtype=np.int64)

    @staticmethod
    def no_offsets(count: int) -> Any:
        """The offsets of ids that are not of the text."""
        return np.zeros((count, 2), dtype=np.int64)

    @staticmethod
    def column(rows: list[Any]) -> Any:
        """The rows of a batch: one array if they are of one length."""
        return np.stack(rows) if len({len(row) for row in rows}) == 1 else rows

    @staticmethod
    def texts(native: NativeRoute, texts: list[str], split_special_tokens: bool) -> list[Any]:
        """Ids of each text alone."""
        if len(texts) == 1:
            return [native.text_array(texts[0], split_special_tokens)]
        ids, offsets = native.encode_batch(texts, False, split_special_tokens)
        return [ids[offsets[row] : offsets[row + 1]] for row in range(len(texts))]


Kind = type[Lists] | type[Arrays]
