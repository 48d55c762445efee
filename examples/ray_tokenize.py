"""The job of `lopt encode` on a Ray cluster: from files to Parquet files of ids, with tokenizers in a pool of actors.

    pip install 'lopt-plugin[ray]'
    python examples/ray_tokenize.py MODEL data/*.jsonl.zst --out ids/ [--actors 8] [--threads 4] [--address auto]

The documents are those of `lopt encode`, from the same readers (text, JSON lines and Parquet, also .gz, .zst, ...; one
task per file). Ray's own readers skip empty lines, and fail on a file with one bad line. The columns of the result are
`input` and `record`, which identify the document, and `input_ids`, a list of int32. With --on-error skip, a bad record
has null there, and the reason in `problem`.

Ray restarts a task or an actor that died, so no document is lost. It does not resume a job that was stopped; use
`lopt encode` for that. MODEL and the files must have the same names on every node.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lopt_plugin.cli.corpus.inputs import CorpusError, Input, find_inputs
from lopt_plugin.cli.corpus.records import read_batches
from lopt_plugin.settings import available_cpus

try:
    import pyarrow as pa
    import ray
    from ray.data import ActorPoolStrategy, DataContext, TaskPoolStrategy
except ModuleNotFoundError as error:
    sys.exit(f"{error.name} is not installed for {sys.executable}: pip install 'lopt-plugin[ray]'")

BATCH_BYTES = 8 << 20
BATCH_ROWS = 4096
# For reading and writing: the actors may occupy all CPUs of a node, and leave none for these tasks. It also keeps Ray
# from reading in the actors themselves.
WITHOUT_CPU: dict[str, Any] = {"num_cpus": 0}
DOCUMENTS = pa.schema(
    [("input", pa.string()), ("record", pa.int64()), ("text", pa.large_string()), ("problem", pa.string())]
)
IDS = pa.schema(
    [("input", pa.string()), ("record", pa.int64()), ("input_ids", pa.large_list(pa.int32())), ("problem", pa.string())]
)


def read_documents(rows: pa.Table, column: str, sample_by: str, skip_errors: bool) -> Iterator[pa.Table]:
    """Rows of `{"input": JSON of an Input}` to rows of documents, in blocks of bounded size.

    Raises CorpusError, with file and record, for a bad record unless `skip_errors`.
    """
    for row in rows.column("input").to_pylist():
        given = Input(**json.loads(row))
        for batch in read_batches(given, column, sample_by, 0, BATCH_BYTES):
            texts = [(record, text, None) for record, text in zip(batch.records, batch.texts, strict=True)]
            found = sorted([*texts, *((one.record, None, one.reason) for one in batch.problems)])
            for record, _, problem in found:
                if problem is not None and not skip_errors:
                    raise CorpusError(f"{given.name}:{record}: {problem}")
            records, documents, problems = ([one[k] for one in found] for k in range(3))
            yield pa.table([[given.name] * len(found), records, documents, problems], schema=DOCUMENTS)


class Tokenize:
    """An actor: one tokenizer, loaded once, with its threads."""

    def __init__(self, model: str, threads: int, add_special_tokens: bool) -> None:
        import lopt_plugin

        if Path(model).is_file():
            from transformers import PreTrainedTokenizerFast

            tokenizer = lopt_plugin.accelerate(PreTrainedTokenizerFast(tokenizer_file=model), threads=threads)
        else:
            tokenizer = lopt_plugin.from_pretrained(model, threads=threads)
        self.encoder = tokenizer.lopt
        self.add_special_tokens = add_special_tokens

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Documents to ids. The ids are copied once, from the native core's array to the table."""
        texts = rows.column("text").to_pylist()
        batch = self.encoder.encode_batch_ids([text for text in texts if text is not None], self.add_special_tokens)
        has_text = np.array([text is not None for text in texts], dtype=bool)
        lengths = np.zeros(len(texts), dtype=np.int64)
        lengths[has_text] = np.diff(batch.row_offsets)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        ids = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(batch.ids), mask=pa.array(~has_text))
        return pa.table([rows.column("input"), rows.column("record"), ids, rows.column("problem")], schema=IDS)


def pipeline(
    inputs: list[Input],
    model: str,
    *,
    actors: int,
    threads: int,
    column: str = "text",
    sample_by: str = "document",
    skip_errors: bool = False,
    add_special_tokens: bool = True,
) -> ray.data.Dataset:
    """A lazy dataset of ids, from `actors` tokenizers with `threads` threads each, which reserve as many Ray CPUs."""
    names = ray.data.from_items([{"input": json.dumps(asdict(one))} for one in inputs], override_num_blocks=len(inputs))
    documents = names.map_batches(
        read_documents,
        fn_kwargs={"column": column, "sample_by": sample_by, "skip_errors": skip_errors},
        batch_size=1,
        batch_format="pyarrow",
        compute=TaskPoolStrategy(size=2 * actors),
        **WITHOUT_CPU,
    )
    return documents.map_batches(
        Tokenize,
        fn_constructor_kwargs={"model": model, "threads": threads, "add_special_tokens": add_special_tokens},
        batch_size=BATCH_ROWS,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=actors),
        num_cpus=threads,
    )


def main() -> int:
    """Runs the job; returns the exit status."""
    given = _arguments()
    try:
        inputs = find_inputs(given.inputs, None)
    except CorpusError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    local = {"include_dashboard": False} if given.address is None else {}
    ray.init(address=given.address, log_to_driver=False, **local)
    # Rows keep the order of the inputs, as in `lopt encode`.
    DataContext.get_current().execution_options.preserve_order = True
    model = str(Path(given.model).resolve()) if Path(given.model).exists() else given.model
    ids = pipeline(
        inputs,
        model,
        actors=given.actors,
        threads=given.threads,
        column=given.field,
        sample_by=given.sample_by,
        skip_errors=given.on_error == "skip",
    )
    try:
        ids.write_parquet(str(given.out.resolve()), ray_remote_args=WITHOUT_CPU)
    except ray.exceptions.RayTaskError as error:
        if not isinstance(error, CorpusError):
            raise
        print(f"error: {str(error.cause).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder with a tokenizer, a tokenizer.json, or a name on the hub")
    parser.add_argument("inputs", nargs="+", help="files, folders, patterns with *, addresses (s3://...)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the Parquet files")
    parser.add_argument("--field", default="text", help="of JSON lines, or column of Parquet files (default text)")
    parser.add_argument("--sample-by", choices=("document", "line"), default="document", help="of a text file")
    parser.add_argument("--on-error", choices=("stop", "skip"), default="stop", help="at a bad record")
    parser.add_argument("--actors", type=int, default=1, help="tokenizers (default 1)")
    parser.add_argument("--threads", type=int, default=available_cpus(), help="of each tokenizer (default %(default)s)")
    parser.add_argument("--address", help="address of a Ray cluster (default: start one on this machine)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
