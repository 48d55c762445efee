"""Read the shards of `lopt encode` back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from lopt_plugin.cli.corpus.shards import COLUMN
from lopt_plugin.encoder.token_batch import TokenBatch


def read_shard(folder: Path, names: list[str]) -> TokenBatch:
    """A shard, read back by the names of its files."""
    if names[0].endswith(".npy"):
        ids, offsets = (np.load(folder / name) for name in names)
        return TokenBatch(ids, offsets)
    import pyarrow
    from pyarrow import parquet

    path = str(folder / names[0])
    if path.endswith(".parquet"):
        table = parquet.read_table(path)
    else:
        with pyarrow.memory_map(path) as mapped:
            table = pyarrow.ipc.open_file(mapped).read_all()
    rows = [chunk.flatten().to_numpy() for chunk in table.column(COLUMN).chunks]
    lengths = [np.diff(chunk.offsets.to_numpy()) for chunk in table.column(COLUMN).chunks]
    offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]), dtype=np.int64)
    return TokenBatch(cast(Any, np.concatenate(rows) if rows else np.empty(0, np.int32)), offsets)
