"""A shard: the ids of consecutive documents, as npy files, Parquet or Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...encoder.token_batch import TokenBatch
from ...unicode_tables.files import atomic_file
from .inputs import CorpusError, Input
from .records import Problem

COLUMN = "input_ids"
_ROWS_A_GROUP = 4096


class Shard:
    """Collects documents until there are enough for a file.

    place     where it ends: index of the input, and number of its last record
    size      bytes of the records, decompressed
    problems  the records that could not be encoded, with their inputs
    """

    def __init__(self, place: tuple[int, int]) -> None:
        self.place = place
        self.tokens = 0
        self.documents = 0
        self.size = 0
        self.problems: list[tuple[Input, Problem]] = []
        self._ids: list[npt.NDArray[Any]] = []
        self._lengths: list[npt.NDArray[np.int64]] = []

    def add(self, batch: TokenBatch, dtype: str) -> None:
        """Adds a copy of the batch. Raises OverflowError for an id that does not fit `dtype`."""
        if dtype == "uint16" and len(batch.ids) and int(batch.ids.max()) > 0xFFFF:
            raise OverflowError(f"id {int(batch.ids.max())} does not fit uint16")
        self._ids.append(batch.ids.astype(dtype))
        self._lengths.append(np.diff(batch.row_offsets))
        self.tokens += len(batch.ids)
        self.documents += len(batch)

    def ids(self, dtype: str) -> npt.NDArray[Any]:
        """[tokens]."""
        return np.concatenate([*self._ids, np.empty(0, dtype)])

    def offsets(self) -> npt.NDArray[np.int64]:
        """[documents + 1]; document i is ``ids[offsets[i]:offsets[i + 1]]``."""
        lengths = np.concatenate([np.zeros(1, np.int64), *self._lengths])
        return np.cumsum(lengths, dtype=np.int64)


def check_shard_format(shard_format: str) -> None:
    """Raises CorpusError if the format needs a library that is missing."""
    if shard_format != "npy":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise CorpusError(f"{shard_format} shards need pyarrow; pip install 'lopt-plugin[corpus]'") from error


def write_shard(shard: Shard, folder: Path, number: int, shard_format: str, dtype: str) -> list[str]:
    """Writes the shard; returns the names of its files, which depend on `number` and the format only."""
    ids, offsets = shard.ids(dtype), shard.offsets()
    stem = f"shard-{number:05d}"
    if shard_format == "npy":
        for name, array in ((f"{stem}.ids.npy", ids), (f"{stem}.offsets.npy", offsets)):
            with atomic_file(folder / name) as file:
                np.save(file, array)
        return [f"{stem}.ids.npy", f"{stem}.offsets.npy"]
    name = f"{stem}.{shard_format}"
    with atomic_file(folder / name) as file:
        _write_table(file, ids, offsets, shard_format)
    return [name]


def _write_table(file: BinaryIO, ids: npt.NDArray[Any], offsets: npt.NDArray[np.int64], shard_format: str) -> None:
    import pyarrow
    from pyarrow import parquet

    values = pyarrow.array(ids)
    schema = pyarrow.schema([(COLUMN, pyarrow.list_(values.type))])
    if shard_format == "parquet":
        writer = parquet.ParquetWriter(file, schema, compression="zstd")
    else:
        writer = pyarrow.ipc.new_file(file, schema)
    with writer:
        for first in range(0, len(offsets) - 1, _ROWS_A_GROUP):
            # A list array has 32-bit offsets: those of each group begin at 0.
            part = offsets[first : first + _ROWS_A_GROUP + 1]
            lists = pyarrow.ListArray.from_arrays(
                pyarrow.array((part - part[0]).astype(np.int32)), values[int(part[0]) : int(part[-1])]
            )
            writer.write_batch(pyarrow.record_batch([lists], schema=schema))
