"""examples/ray_tokenize.py on a local Ray: the documents and ids of `lopt encode`, and its errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import corpus
import own_process
import pyarrow
from command import lopt, model_folder
from pyarrow import parquet
from required import skip_without
from shards import read_shard

from lopt_plugin.cli.corpus.manifest import Manifest

skip_without("ray", "LOPT_REQUIRE_RAY")

# Starting Ray takes longer than the rest: one start for everything.
SCRIPT = """
import json, logging, os, sys

home, examples, model, files, bad, out = json.loads(ARGUMENTS)
os.environ["HOME"] = home  # Ray keeps things there
sys.path.insert(0, examples)
os.environ["PYTHONPATH"] = os.pathsep.join([examples, os.environ["PYTHONPATH"]])  # for Ray's processes
errors = os.dup(2)
os.dup2(os.open(os.path.join(home, "log"), os.O_WRONLY | os.O_CREAT), 2)  # what Ray tells of itself

import ray
import ray_tokenize
from lopt_plugin.cli.corpus.inputs import find_inputs

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.CRITICAL)
ray.data.DataContext.get_current().enable_progress_bars = False
ray.data.DataContext.get_current().execution_options.preserve_order = True
ray_tokenize.BATCH_BYTES = 4_000
for name, options in (
    ("documents", {"actors": 2, "threads": 1}),
    ("lines", {"actors": 1, "threads": 2, "sample_by": "line", "add_special_tokens": False}),
):
    ids = ray_tokenize.pipeline(find_inputs(files, None), model, **options)
    ids.write_parquet(os.path.join(out, name), ray_remote_args=ray_tokenize.WITHOUT_CPU)
ids = ray_tokenize.pipeline(find_inputs([bad], None), model, actors=1, threads=2, skip_errors=True)
ids.write_parquet(os.path.join(out, "bad"), ray_remote_args=ray_tokenize.WITHOUT_CPU)
said = ""
try:
    ray_tokenize.pipeline(find_inputs([bad], None), model, actors=1, threads=2).materialize()
except ray_tokenize.CorpusError as error:
    said = str(error.cause).splitlines()[0]
ray.shutdown()
os.dup2(errors, 2)
print(json.dumps(said))
"""


def rows(folder: Path) -> list[dict[str, Any]]:
    """In the order of the documents; Ray writes several files."""
    return [row for path in sorted(folder.glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]


def encoded(model: Path, files: list[Path], out: Path, *options: str) -> list[list[int]]:
    """What `lopt encode` makes of the files."""
    assert lopt("encode", model, *files, "--out", out, *options).exit_code == 0
    manifest = Manifest.read(out)
    assert manifest is not None
    shards = [read_shard(out, list(shard.files)) for shard in manifest.shards]
    return [shard.row(row).tolist() for shard in shards for row in range(len(shard))]


def test_documents_and_errors(tmp_path: Path) -> None:
    model = model_folder(tmp_path / "model", "tiny_roberta")
    texts = [*(text[:700] for text in corpus.texts("code", 60_000)), "", "\u4e2d\u6587", "x"]
    files = [tmp_path / name for name in ("a.jsonl", "b.txt.gz", "c.parquet")]
    files[0].write_text("\n".join(json.dumps({"text": text}) for text in texts) + "\n\n", encoding="utf-8")
    files[1].write_bytes(gzip.compress(b"one\n\ntwo\n"))
    parquet.write_table(pyarrow.table({"text": texts[::-1]}), files[2], row_group_size=20)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "one"}\n{\n{"text": "\\ud800"}\n{"text": "two"}\n')
    out = tmp_path / "out"
    home = tmp_path / "home"
    home.mkdir()
    examples = Path(__file__).resolve().parents[2] / "examples"
    arguments = json.dumps([*map(str, (home, examples, model)), list(map(str, files)), str(bad), str(out)])
    said = json.loads(own_process.run(SCRIPT.replace("ARGUMENTS", repr(arguments)), seconds=600).splitlines()[-1])

    documents = rows(out / "documents")
    assert [row["input_ids"] for row in documents] == encoded(model, files, tmp_path / "encoded")
    places = [(row["input"], row["record"]) for row in documents]
    assert len(set(places)) == len(places) == 2 * len(texts) + 1
    lines = rows(out / "lines")
    options = ("--sample-by", "line", "--no-special-tokens")
    assert [row["input_ids"] for row in lines] == encoded(model, files, tmp_path / "lines", *options)
    tokenizer = corpus.load_tokenizer("tiny_roberta")
    assert [(row["record"], row["input_ids"]) for row in rows(out / "bad")] == [
        (1, tokenizer.encode("one").ids),
        (2, None),
        (3, None),
        (4, tokenizer.encode("two").ids),
    ]
    assert [row["problem"] and row["problem"].split(":")[0] for row in rows(out / "bad")] == [
        None,
        "not JSON",
        "a lone surrogate at character 0",
        None,
    ]
    assert said.startswith(f"{bad}:2: not JSON")
