"""`datasets.map(batched=True)` with an accelerated tokenizer: one process uses all cores, and the cache works.

    pip install 'lopt-plugin[datasets]'
    python examples/datasets_map.py MODEL data/*.jsonl --out tokenized/

The native core's threads tokenize each batch, so `num_proc` is not needed: it would copy every text to a worker
process and every list of ids back. To use it anyway, add `--threads 1`.

`datasets` caches the result of a map by a hash of the function, which includes the tokenizer as dill writes it. For an
accelerated tokenizer with the same settings, this hash is the same in every process, and calls do not change it: the
next run finds the cached result.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import lopt_plugin
from lopt_plugin.settings import available_cpus

try:
    import datasets
except ModuleNotFoundError as error:
    sys.exit(f"{error.name} is not installed for {sys.executable}: pip install 'lopt-plugin[datasets]'")

FORMATS = {".jsonl": "json", ".json": "json", ".parquet": "parquet", ".csv": "csv", ".txt": "text"}


class Tokenize:
    """Texts to ids. A class at module level, so that dill writes its name and not its code."""

    def __init__(self, tokenizer: Any, column: str) -> None:
        self.tokenizer = tokenizer
        self.column = column

    def __call__(self, batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        """For `datasets.Dataset.map(batched=True)`."""
        return {"input_ids": self.tokenizer(batch[self.column])["input_ids"]}


def main() -> int:
    """Runs the example; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder with a tokenizer, or name on the hub")
    parser.add_argument("files", nargs="+", type=Path, help=f"all of one format: {', '.join(FORMATS)}, also compressed")
    parser.add_argument("--out", type=Path, required=True, help="folder for the dataset")
    parser.add_argument("--field", default="text", help="column with the texts (default text)")
    parser.add_argument("--threads", type=int, default=available_cpus(), help="of the tokenizer (default %(default)s)")
    parser.add_argument("--num-proc", type=int, help="processes of datasets.map (default: this one only)")
    given = parser.parse_args()
    kind = next((FORMATS[suffix] for suffix in given.files[0].suffixes if suffix in FORMATS), "text")
    dataset = datasets.load_dataset(kind, data_files=[str(path) for path in given.files], split="train")

    tokenizer = lopt_plugin.from_pretrained(given.model, threads=given.threads)
    wall, cpu = time.perf_counter(), time.process_time()
    tokenized = dataset.map(
        Tokenize(tokenizer, given.field),
        batched=True,
        num_proc=given.num_proc,
        remove_columns=dataset.column_names,
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    tokenized.save_to_disk(str(given.out))
    speed = f"{wall:.1f} s on {cpu / wall:.1f} cores"
    print(f"{len(tokenized):,} documents in {speed}, fingerprint {tokenized._fingerprint}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
