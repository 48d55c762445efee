"""lopt encode: every document once, for every format, shard size and moment of a kill."""

from __future__ import annotations

import bz2
import gzip
import json
import logging
import lzma
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import own_process
import pyarrow
import pytest
from command import lopt, model_folder
from pyarrow import parquet
from shards import read_shard

from lopt_plugin.cli import model as models
from lopt_plugin.cli.corpus import job
from lopt_plugin.cli.corpus.inputs import CorpusError, find_inputs
from lopt_plugin.cli.corpus.job import only_writer
from lopt_plugin.cli.corpus.manifest import Manifest
from lopt_plugin.cli.corpus.records import read_batches
from lopt_plugin.unicode_tables.files import atomic_file

Rows = list[list[int]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def documents() -> list[str]:
    """300 documents, some empty, with line ends and characters that JSON and line readers treat differently."""
    rng = random.Random(3)
    text = "\n".join(corpus.texts("multi", 60_000) + corpus.texts("code", 20_000))
    found = []
    for _ in range(300):
        first = rng.randrange(len(text))
        found.append(text[first : first + rng.choice([0, 1, 30, 300, 900])])
    return [*found, "a\u2028b\u2029c\x0b\x0c\x85d\r\n\r", "\x00", "\ufeffx"]


@pytest.fixture(scope="module")
def expected(documents: list[str]) -> Rows:
    tokenizer = corpus.load_tokenizer("tiny_qwen2")
    return [tokenizer.encode(text).ids for text in documents]


def as_jsonl(texts: list[str]) -> bytes:
    lines = [json.dumps({"id": k, "text": text}, ensure_ascii=k % 2 == 0) for k, text in enumerate(texts)]
    return ("\n".join(lines) + "\n").encode()


def rows_of(folder: Path) -> Rows:
    manifest = Manifest.read(folder)
    assert manifest is not None
    assert manifest.complete
    found: Rows = []
    for shard in manifest.shards:
        names = [name for name in shard.files if name.startswith("shard-")]
        batch = read_shard(folder, names)
        assert (len(batch), len(batch.ids)) == (shard.documents, shard.tokens)
        found += [batch.row(row).tolist() for row in range(len(batch))]
    return found


def shard_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name.startswith("shard-")}


def nothing_unfinished(folder: Path) -> bool:
    return not list(folder.glob("*.part"))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "BATCH_BYTES", 4_000)


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:]),
    ".zst": lambda data: b"".join(pyarrow.compress(part, "zstd", asbytes=True) for part in (data[:1000], data[1000:])),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_json_lines_compressed(tmp_path: Path, model: Path, documents: list[str], expected: Rows, suffix: str) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(COMPRESSIONS[suffix](as_jsonl(documents)))
    out = tmp_path / "out"
    result = lopt("encode", model, path, "--out", out, "--shard-tokens", 5_000, "--json")
    assert result.exit_code == 0
    summary = json.loads(result.stdout)
    assert rows_of(out) == expected
    assert summary["documents"] == len(expected)
    assert summary["tokens"] == sum(map(len, expected))
    assert summary["dtype"] == "uint16"
    assert summary["shards"] == len(list(out.glob("*.ids.npy"))) > 3


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
@pytest.mark.parametrize("shard_format", ["npy", "parquet", "arrow"])
def test_parquet_to_every_shard_format(
    tmp_path: Path, model: Path, documents: list[str], expected: Rows, kind: str, shard_format: str
) -> None:
    array = pyarrow.array(documents, pyarrow.large_string() if kind == "large_string" else pyarrow.string())
    array = array.dictionary_encode() if kind == "dictionary" else array
    table = pyarrow.table({"id": list(range(len(documents))), "content": array})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=70)
    out = tmp_path / "out"
    options = ("--field", "content", "--shard-format", shard_format, "--dtype", "int32", "--shard-tokens", 9_000)
    assert lopt("encode", model, tmp_path / "a.parquet", "--out", out, *options).exit_code == 0
    assert rows_of(out) == expected
    if shard_format == "parquet":
        schema = parquet.read_schema(out / "shard-00000.parquet")
        assert schema.field("input_ids").type == pyarrow.list_(pyarrow.int32())


def test_text_files_folders_and_lines(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.txt").write_bytes("eins\r\nzwei\n\ndrei é".encode())
    (folder / "deeper" / "b.txt.gz").write_bytes(gzip.compress(b"four\nfive\n"))
    (folder / ".hidden").write_bytes(b"\xff")
    tokenizer = corpus.load_tokenizer("tiny_qwen2")

    def encoded(*texts: str) -> Rows:
        return [tokenizer.encode(text).ids for text in texts]

    assert lopt("encode", model, folder, "--out", tmp_path / "files").exit_code == 0
    assert rows_of(tmp_path / "files") == encoded("eins\r\nzwei\n\ndrei é", "four\nfive\n")
    assert lopt("encode", model, folder, "--out", tmp_path / "lines", "--sample-by", "line").exit_code == 0
    assert rows_of(tmp_path / "lines") == encoded("eins", "zwei", "", "drei é", "four", "five")
    assert lopt("encode", model, f"{folder}/*.txt", "--out", tmp_path / "glob").exit_code == 0
    assert len(rows_of(tmp_path / "glob")) == 1


def test_standard_input_and_special_tokens(tmp_path: Path) -> None:
    model = model_folder(tmp_path / "model", "tiny_roberta")
    # As transformers loads it: transformers 4 changes the pre-tokenizer.
    level = logging.getLogger("lopt_plugin").level
    tokenizer = models.load(str(model)).backend_tokenizer
    logging.getLogger("lopt_plugin").setLevel(level)
    for option, special in (("--special-tokens", True), ("--no-special-tokens", False)):
        out = tmp_path / option
        given = as_jsonl(["one", "", "three"])
        assert lopt("encode", model, "-", "--format", "jsonl", "-o", out, option, given=given).exit_code == 0
        wanted = [tokenizer.encode(text, add_special_tokens=special).ids for text in ("one", "", "three")]
        assert rows_of(out) == wanted


BAD_LINES = [
    (b"{", "not JSON"),
    (b'{"text": "a"} {"text": "b"}', "not JSON: Extra data"),
    (b'["a"]', "not a JSON object but an array"),
    (b'{"id": 1}', "no field 'text'; there are 'id'"),
    (b'{"text": null}', "field 'text' is null, not a string"),
    (b'{"text": 3}', "field 'text' is a number, not a string"),
    (b'{"text": "\\ud800"}', "a lone surrogate at character 0"),
    (b'{"text": "\xff"}', "not UTF-8: byte 0xff at 10"),
    (b"[" * 100_000, "JSON nested too deeply"),
]


def test_an_encoder_bug_is_not_a_bad_record(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise TypeError("a mistake")

    monkeypatch.setattr("lopt_plugin.encoder.encoder.Encoder.encode_batch_ids", fail)
    for text in (b'"one"', b'"\\ud800"'):
        line = b'{"text": ' + text + b"}"
        with pytest.raises(TypeError, match="a mistake"):
            lopt("encode", model, "-", "--format", "jsonl", "-o", tmp_path, "--on-error", "skip", given=line)


@pytest.mark.parametrize(("line", "reason"), BAD_LINES)
def test_a_bad_line(tmp_path: Path, model: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "first"}\n\n' + line + b'\n{"text": "last"}')
    out = tmp_path / "out"
    stopped = lopt("encode", model, path, "--out", out)
    assert stopped.exit_code == 1
    assert f"bad.jsonl:3: {reason}" in stopped.stderr
    assert "--on-error skip" in stopped.stderr
    skipped = lopt("encode", model, path, "--out", out, "--on-error", "skip")
    assert skipped.exit_code == 0
    assert "1 records were skipped" in skipped.stdout
    assert len(rows_of(out)) == 2
    listed = [json.loads(one) for one in (out / "skipped-00000.jsonl").read_text().splitlines()]
    assert [(one["input"], one["record"]) for one in listed] == [(str(path), 3)]


def test_parquet_nulls_and_missing_columns(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": ["a", None, "b"], "n": [1, 2, 3]}), path)
    out = tmp_path / "out"
    assert "a.parquet:2: column 'text' is null" in lopt("encode", model, path, "--out", out).stderr
    assert lopt("encode", model, path, "--out", out, "--on-error", "skip").exit_code == 0
    assert len(rows_of(out)) == 2
    for field, message in (("nothing", "no column 'nothing'; there are text, n"), ("n", "is int64, not string")):
        assert message in lopt("encode", model, path, "--out", tmp_path / field, "--field", field).stderr


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.parquet", "a.jsonl.xz", "a.jsonl.bz2"])
def test_a_file_that_was_cut_off(tmp_path: Path, model: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("parquet"):
        parquet.write_table(pyarrow.table({"text": ["abc"] * 1000}), path)
    else:
        path.write_bytes(COMPRESSIONS[path.suffix](as_jsonl([str(random.Random(k).random()) for k in range(2000)])))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    result = lopt("encode", model, path, "--out", tmp_path / "out", "--on-error", "skip")
    assert result.exit_code == 1
    assert name in result.stderr
    manifest = Manifest.read(tmp_path / "out")
    assert manifest is not None
    assert not manifest.complete
    path.write_bytes(whole[: len(whole) // 2] + b"\xff" * 20 + whole[len(whole) // 2 + 20 :])
    if not name.endswith(("parquet", "zst")):  # these have checksums only where their writer wanted them
        broken = lopt("encode", model, path, "--out", tmp_path / "broken", "--on-error", "skip")
        assert (broken.exit_code, name in broken.stderr) == (1, True)


def test_resumes_only_with_the_same_origin(tmp_path: Path, model: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text("one")
    assert lopt("encode", model, path, "--out", out).exit_code == 0
    again = lopt("encode", model, path, "--out", out)
    assert (again.exit_code, "already complete" in again.stdout) == (0, True)
    other_model = model_folder(tmp_path / "other", "tiny_cl100k")
    for arguments, message in (
        ((other_model, path), "with another tokenizer"),
        ((model, path, "--shard-format", "arrow"), "with shard_format 'npy', not 'arrow'"),
        ((model, path, model / "tokenizer.json"), "from other inputs"),
    ):
        result = lopt("encode", *arguments, "--out", out)
        assert (result.exit_code, message in result.stderr) == (1, True)
    path.write_text("other")
    assert "has changed" in lopt("encode", model, path, "--out", out).stderr
    assert lopt("encode", model, path, "--out", out, "--overwrite").exit_code == 0
    assert rows_of(out) == [corpus.load_tokenizer("tiny_qwen2").encode("other").ids]


def test_a_first_try_that_failed_does_not_lock_the_folder(tmp_path: Path, model: Path) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out"
    path.write_text('{"content": "one"}\n{"content": "two"}\n')
    wrong = lopt("encode", model, path, "--out", out)
    assert wrong.exit_code == 1
    assert "no field 'text'; there are 'content'" in wrong.stderr
    assert "--field names another field" in wrong.stderr
    skipped = lopt("encode", model, path, "--out", out, "--on-error", "skip")
    assert (skipped.exit_code, "every record was skipped" in skipped.stderr) == (1, True)
    again = lopt("encode", model, path, "--out", out, "--on-error", "skip")
    assert (again.exit_code, "every record was skipped" in again.stderr) == (1, True)
    assert lopt("encode", model, path, "--out", out, "--field", "content").exit_code == 0
    assert len(rows_of(out)) == 2
    assert sorted(file.name for file in out.iterdir()) == [
        ".lock",
        "manifest.json",
        "shard-00000.ids.npy",
        "shard-00000.offsets.npy",
    ]
    refused = lopt("encode", model, path, "--out", out, "--field", "text")
    assert (refused.exit_code, "with column 'content'" in refused.stderr) == (1, True)


@pytest.mark.parametrize("name", ["notes.txt", "shard-00000.ids.npy"])
@pytest.mark.parametrize("option", [(), ("--overwrite",)])
def test_a_folder_of_other_files_is_refused(tmp_path: Path, model: Path, name: str, option: tuple[str, ...]) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text("one")
    out.mkdir()
    (out / name).write_text("mine")
    refused = lopt("encode", model, path, "--out", out, *option)
    assert refused.exit_code == 1
    assert "has other files" in refused.stderr
    assert name in refused.stderr
    assert [file.name for file in out.iterdir()] == [name]
    assert (out / name).read_text() == "mine"


def test_the_users_files_in_an_output_folder_are_kept(tmp_path: Path, model: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text("one")
    assert lopt("encode", model, path, "--out", out).exit_code == 0
    (out / "notes.txt").write_text("mine")
    path.write_text("one, two")
    assert lopt("encode", model, path, "--out", out, "--overwrite").exit_code == 0
    assert (out / "notes.txt").read_text() == "mine"


def test_wrong_usage(tmp_path: Path, model: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("one")
    out = tmp_path / "out"
    assert lopt("encode", model, text).exit_code == 2
    assert lopt("encode", tmp_path / "nothing", text, "--out", out).exit_code == 2
    missing = lopt("encode", model, tmp_path / "b.txt", "--out", out)
    assert (missing.exit_code, "no such file" in missing.stderr) == (2, True)
    twice = lopt("encode", model, text, text, "--out", out)
    assert (twice.exit_code, "given twice" in twice.stderr) == (2, True)
    big = tmp_path / "big.json"
    big.write_text(json.dumps({"model": {"type": "WordLevel", "vocab": {"one": 70_000, "?": 0}, "unk_token": "?"}}))
    refused = lopt("encode", big, text, "--out", out, "--dtype", "uint16")
    assert (refused.exit_code, "ids up to 70,000" in refused.stderr) == (2, True)
    assert not out.exists()
    assert lopt("encode", big, text, "--out", out).exit_code == 0
    assert rows_of(out) == [[70_000]]


@pytest.mark.usefixtures("small_batches")
def test_ctrl_c_leaves_atomic_files(
    tmp_path: Path, model: Path, documents: list[str], expected: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "a.jsonl", tmp_path / "out"
    path.write_bytes(as_jsonl(documents))
    true_save = np.save
    calls = []

    def save(file: Any, array: Any) -> None:
        true_save(file, array)
        calls.append(array)
        if len(calls) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(np, "save", save)
    options = ("--out", out, "--shard-tokens", 3_000)
    interrupted = lopt("encode", model, path, *options)
    assert interrupted.exit_code == 130
    assert "run the same command to resume" in interrupted.stderr
    assert nothing_unfinished(out)
    resumed = lopt("encode", model, path, *options, "--json")
    assert (resumed.exit_code, "resuming from shard 2" in resumed.stderr) == (0, True)
    assert rows_of(out) == expected
    assert json.loads(resumed.stdout)["shards"] > 2


KILLED_AT_A_STEP = """
import json, os, signal, sys
from pathlib import Path
from tokenizers import Tokenizer
from lopt_plugin.cli.corpus import inputs, job, manifest
from lopt_plugin.encoder.encoder import Encoder

names, out, steps, more_steps, shard_format, tokenizer_file = json.loads(ARGUMENTS)
job.BATCH_BYTES = 4_000
found = tuple(inputs.find_inputs(names, None))
origin = manifest.Origin("tiny", "text", "document", True, shard_format, "int32", 6_000, found)
encoder = Encoder(Tokenizer.from_file(tokenizer_file))
left = 0


def counted(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call


# The steps of a file: creation, sync, rename, removal.
os.fsync, Path.replace, Path.unlink, Path.open = map(counted, (os.fsync, Path.replace, Path.unlink, Path.open))
statuses = []
while len(statuses) < 100 and 0 not in statuses:
    child = os.fork()
    if child == 0:
        left = steps + more_steps * len(statuses)
        job.Job(encoder, origin, Path(out), {}, True).run(lambda progress: None)
        os._exit(0)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(statuses))
"""


@pytest.mark.parametrize(("shard_format", "steps", "more_steps"), [("npy", 1, 5), ("parquet", 7, 11), ("arrow", 20, 1)])
def test_killed_at_any_step(
    tmp_path: Path, model: Path, documents: list[str], expected: Rows, shard_format: str, steps: int, more_steps: int
) -> None:
    first, second = tmp_path / "a.jsonl.gz", tmp_path / "b.parquet"
    first.write_bytes(gzip.compress(b"{\n" + as_jsonl(documents[:150]) + b"{\n"))
    parquet.write_table(pyarrow.table({"text": documents[150:]}), second, row_group_size=50)

    def run(out: Path, steps: int, more_steps: int) -> list[int]:
        names = [str(first), str(second)]
        arguments = [names, str(out), steps, more_steps, shard_format, str(model / "tokenizer.json")]
        script = KILLED_AT_A_STEP.replace("ARGUMENTS", repr(json.dumps(arguments)))
        statuses: list[int] = json.loads(own_process.run(script))
        return statuses

    out = tmp_path / "out"
    *killed, last = run(out, steps, more_steps)
    assert last == 0
    assert set(killed) == {-signal.SIGKILL}
    assert len(killed) >= 3
    assert rows_of(out) == expected
    assert nothing_unfinished(out)
    assert sum(len(path.read_text().splitlines()) for path in out.glob("skipped-*.jsonl")) == 2
    # The shards are those of an uninterrupted run.
    assert run(tmp_path / "at once", 1_000_000, 0) == [0]
    assert shard_bytes(out) == shard_bytes(tmp_path / "at once")


def test_the_command_killed_from_outside(tmp_path: Path, model: Path, documents: list[str], expected: Rows) -> None:
    out = tmp_path / "out"
    lines = [json.dumps({"ballast": "x" * 2_000, "text": text}) for text in documents]
    times = 2 + job.BATCH_BYTES // sum(map(len, lines))
    given = ("\n".join(lines) + "\n").encode() * times
    arguments = ["encode", str(model), "-", "--format", "jsonl", "--out", str(out), "--shard-tokens", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "lopt_plugin.cli", *arguments],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    # More than a batch, and no end: the command writes a shard and waits.
    process.stdin.write(given)
    process.stdin.flush()
    while (manifest := Manifest.read(out)) is None or not manifest.shards:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    process.stdin.close()
    assert not manifest.complete
    assert 0 < manifest.shards[0].documents < len(expected) * times
    assert lopt(*arguments, given=given).exit_code == 0
    assert rows_of(out) == expected * times


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"before")

    def fail() -> None:
        with atomic_file(tmp_path / "a") as file:
            file.write(b"half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"before"


def test_two_writers(tmp_path: Path) -> None:
    with only_writer(tmp_path), pytest.raises(CorpusError, match="another process"), only_writer(tmp_path):
        pass
    with only_writer(tmp_path):
        pass


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.parquet"])
def test_reading_from_the_middle_gives_the_rest(tmp_path: Path, documents: list[str], name: str) -> None:
    path = tmp_path / name
    if name == "a.parquet":
        parquet.write_table(pyarrow.table({"text": documents}), path, row_group_size=40)
    else:
        path.write_bytes(as_jsonl(documents))
    given = find_inputs([str(path)], None)[0]
    whole = list(read_batches(given, "text", "line", 0, 3_000))
    assert len(whole) > 5
    for number, batch in enumerate(whole):
        rest = list(read_batches(given, "text", "line", batch.end, 3_000))
        assert [one.texts for one in rest] == [one.texts for one in whole[number + 1 :]]
        assert [one.records for one in rest] == [one.records for one in whole[number + 1 :]]
