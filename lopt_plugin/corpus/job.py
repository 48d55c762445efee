"""Encodes a corpus: reads ahead, encodes, writes behind; goes on where a run before it was ended, however it ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..token_batch import TokenBatch
from .atomic import TEMPORARY_SUFFIX, only_writer, whole_file
from .inputs import STDIN, CorpusError, Input
from .manifest import NAME, Manifest, Origin, ShardEntry
from .records import Batch, Problem, read_batches
from .shards import Shard, write_shard

BATCH_BYTES = 8 << 20
MOST_SHARD_TOKENS = 1 << 29


@dataclass
class Progress:
    """So far, what earlier runs did included.

    size     bytes of the records, decompressed; `resumed` of them by earlier runs
    stored   bytes of the input files as stored
    """

    documents: int = 0
    tokens: int = 0
    size: int = 0
    resumed: int = 0
    stored: int = 0
    skipped: int = 0
    shards: int = 0
    already_complete: bool = False
    first_skipped: list[str] = field(default_factory=list)


class BadRecordError(CorpusError):
    """A record that gives no ids, where the user wanted to stop there."""


class Job:
    """One corpus, one folder. `encoder` is an accelerated tokenizer's `lopt`."""

    def __init__(self, encoder: Any, origin: Origin, folder: Path, about: dict[str, Any], skip_errors: bool) -> None:
        self.encoder = encoder
        self.origin = origin
        self.folder = folder
        self.about = about
        self.skip_errors = skip_errors

    def run(self, report: Callable[[Progress], None], overwrite: bool = False) -> Progress:
        """Encodes what is not encoded yet. Raises CorpusError; what the manifest names stays whole whatever happens."""
        with only_writer(self.folder):
            manifest = self._manifest(overwrite)
            progress = _done_before(manifest)
            if manifest.complete:
                progress.already_complete = True
                return progress
            self._remove_leftovers(manifest)
            report(progress)
            with ThreadPoolExecutor(1, "lopt-write") as writer:
                self._encode(manifest, progress, report, writer)
            return progress

    def _manifest(self, overwrite: bool) -> Manifest:
        found = Manifest.read(self.folder)
        if found is not None and overwrite:
            # The manifest first: without it, no shard counts.
            (self.folder / NAME).unlink()
            found = None
        if found is None:
            manifest = Manifest(self.origin, self.about)
            manifest.write(self.folder)
            return manifest
        difference = found.difference(self.origin)
        if difference is not None:
            raise CorpusError(f"{self.folder} was begun {difference}; use another --out, or --overwrite to begin anew")
        return found

    def _remove_leftovers(self, manifest: Manifest) -> None:
        known = {name for shard in manifest.shards for name in shard.files}
        for path in self.folder.iterdir():
            ours = path.name.startswith(("shard-", "skipped-", NAME))
            if ours and (path.name.endswith(TEMPORARY_SUFFIX) or path.name not in {*known, NAME}):
                path.unlink()

    def _encode(
        self,
        manifest: Manifest,
        progress: Progress,
        report: Callable[[Progress], None],
        writer: ThreadPoolExecutor,
    ) -> None:
        """The shards' ends depend on the origin only: a batch that fills a shard is its last."""
        shard, problems, size = Shard(), list[tuple[Input, Problem]](), 0
        writing: Future[None] | None = None
        place = _beginning(manifest)
        with closing(self._batches(*place)) as batches:
            for index, batch in batches:
                given = self.origin.inputs[index]
                encoded, failed = self._ids(batch)
                for problem in sorted([*batch.problems, *failed], key=lambda problem: problem.record):
                    line = f"{given.name}:{problem.record}: {problem.reason}"
                    if not self.skip_errors:
                        raise BadRecordError(line)
                    problems.append((given, problem))
                    progress.skipped += 1
                    if len(progress.first_skipped) < 5:
                        progress.first_skipped.append(line)
                shard.add(encoded, self.origin.dtype)
                size += batch.size
                place = (index, batch.end)
                progress.documents += len(encoded)
                progress.tokens += len(encoded.ids)
                progress.size += batch.size
                progress.stored = sum(one.size or 0 for one in self.origin.inputs[:index]) + batch.position
                if shard.tokens >= self.origin.shard_tokens:
                    if writing is not None:
                        writing.result()
                    writing = writer.submit(self._commit, manifest, shard, problems, size, place, False)
                    progress.shards += 1
                    shard, problems, size = Shard(), [], 0
                report(progress)
        if writing is not None:
            writing.result()
        progress.shards += 1 if shard.documents or problems else 0
        self._commit(manifest, shard, problems, size, place, True)

    def _batches(self, first_input: int, first_record: int) -> Generator[tuple[int, Batch], None, None]:
        for index in range(first_input, len(self.origin.inputs)):
            given = self.origin.inputs[index]
            skip = first_record if index == first_input else 0
            batches = read_batches(given, self.origin.column, self.origin.sample_by, skip, BATCH_BYTES)
            # A thread that waits for a terminal could not be interrupted.
            for batch in batches if given.name == STDIN else _read_ahead(batches):
                yield index, batch

    def _ids(self, batch: Batch) -> tuple[TokenBatch, list[Problem]]:
        special = self.origin.add_special_tokens
        try:
            return self.encoder.encode_batch_ids(batch.texts, special), []
        except (TypeError, ValueError, UnicodeError):
            pass
        # One of them is not encodable (a lone surrogate): which?
        rows, problems = [np.empty(0, np.int32)], []
        lengths = [0]
        for record, text in zip(batch.records, batch.texts, strict=True):
            try:
                rows.append(self.encoder.encode_ids(text, special))
                lengths.append(len(rows[-1]))
            except (TypeError, ValueError, UnicodeError) as error:
                reason = "a lone surrogate" if _has_surrogate(text) else f"{type(error).__name__}: {error}"
                problems.append(Problem(record, f"cannot be encoded: {reason}"))
        return TokenBatch(np.concatenate(rows), np.cumsum(lengths, dtype=np.int64)), problems

    def _commit(
        self,
        manifest: Manifest,
        shard: Shard,
        problems: list[tuple[Input, Problem]],
        size: int,
        place: tuple[int, int],
        complete: bool,
    ) -> None:
        """The files first, the manifest that names them last."""
        if shard.documents or problems:
            number = len(manifest.shards)
            origin = self.origin
            files = write_shard(shard, self.folder, number, origin.shard_format, origin.dtype)
            if problems:
                files.append(f"skipped-{number:05d}.jsonl")
                with whole_file(self.folder / files[-1]) as file:
                    for given, problem in problems:
                        line = {"input": given.name, **asdict(problem)}
                        file.write((json.dumps(line, ensure_ascii=False) + "\n").encode(errors="replace"))
            entry = ShardEntry(tuple(files), shard.documents, shard.tokens, size, len(problems), *place)
            manifest.shards.append(entry)
        manifest.complete = complete
        manifest.write(self.folder)


def _read_ahead(batches: Generator[Batch, None, None]) -> Generator[Batch, None, None]:
    """The same batches, the next one read while the last one is in use."""
    with closing(batches), ThreadPoolExecutor(1, "lopt-read") as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _beginning(manifest: Manifest) -> tuple[int, int]:
    if not manifest.shards:
        return 0, 0
    return manifest.shards[-1].next_input, manifest.shards[-1].next_record


def _done_before(manifest: Manifest) -> Progress:
    shards = manifest.shards
    size = sum(shard.size for shard in shards)
    return Progress(
        documents=sum(shard.documents for shard in shards),
        tokens=sum(shard.tokens for shard in shards),
        size=size,
        resumed=size,
        stored=sum(one.size or 0 for one in manifest.origin.inputs[: _beginning(manifest)[0]]),
        skipped=sum(shard.skipped for shard in shards),
        shards=len(shards),
    )


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
