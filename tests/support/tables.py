"""Comparison of tables of characters."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from lopt_plugin.unicode_tables.table import PagedTable


def equal(left: PagedTable, right: PagedTable) -> bool:
    """Whether versions and arrays are the same."""
    return all(np.array_equal(getattr(left, one.name), getattr(right, one.name)) for one in fields(left))
