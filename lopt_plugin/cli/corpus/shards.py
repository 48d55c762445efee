"""A shard: the ids of consecutive documents, as npy files, Parquet or Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...encoder.token_batch import TokenBatch
from ...unicode_tables.files import atomic_file
from .inputs import Input, load_pyarrow
from .manifest import ShardEntry
from .records import Problem

COLUMN = "input_ids"
_ROWS_A_GROUP = 4096


class Shard:
    """Collects documents until there are enough for a file.

    entry     the manifest entry, without its files so far
    problems  the records that could not be encoded, with their inputs
    """

    def __init__(self, dtype: str) -> None:
        self.entry = ShardEntry()
        self.problems: list[tuple[Input, Problem]] = []
        self._ids: list[npt.NDArray[Any]] = [np.empty(0, dtype)]
        self._lengths = [np.zeros(1, np.int64)]

    def add(self, batch: TokenBatch) -> None:
        """Adds a copy of the batch. Raises OverflowError for an id that does not fit the type."""
        dtype = self._ids[0].dtype
        if len(batch.ids) and int(batch.ids.max()) > np.iinfo(dtype).max:
            raise OverflowError(f"id {int(batch.ids.max())} does not fit {dtype}")
        self._ids.append(batch.ids.astype(dtype))
        self._lengths.append(np.diff(batch.row_offsets))

    def write(self, folder: Path, number: int, shard_format: str) -> list[str]:
        """Writes the files; returns their names, which depend on `number` and the format only.

        Document i of the shard is ``ids[offsets[i]:offsets[i + 1]]``.
        """
        ids, offsets = np.concatenate(self._ids), np.cumsum(np.concatenate(self._lengths), dtype=np.int64)
        stem = f"shard-{number:05d}"
        if shard_format != "npy":
            with atomic_file(folder / f"{stem}.{shard_format}") as file:
                _write_table(file, ids, offsets, shard_format)
            return [f"{stem}.{shard_format}"]
        arrays = {f"{stem}.ids.npy": ids, f"{stem}.offsets.npy": offsets}
        for name, array in arrays.items():
            with atomic_file(folder / name) as file:
                np.save(file, array)
        return list(arrays)


def _write_table(file: BinaryIO, ids: npt.NDArray[Any], offsets: npt.NDArray[np.int64], shard_format: str) -> None:
    pyarrow = load_pyarrow(shard_format)
    # 32-bit offsets suffice, because a shard ends with the batch that contains its last token.
    lists = pyarrow.ListArray.from_arrays(pyarrow.array(offsets.astype(np.int32)), pyarrow.array(ids))
    table = pyarrow.table({COLUMN: lists})
    if shard_format == "parquet":
        pyarrow.parquet.write_table(table, file, compression="zstd", row_group_size=_ROWS_A_GROUP)
    else:
        with pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=_ROWS_A_GROUP)
