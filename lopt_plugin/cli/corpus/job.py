"""Encodes a corpus, or resumes an earlier run. One thread reads the next batch, another writes the last shard."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...unicode_tables.files import atomic_file
from .inputs import STDIN, CorpusError
from .manifest import NAME, Manifest, Origin, Totals
from .records import Batch, read_batches
from .shards import Shard

BATCH_BYTES = 8 << 20
MOST_SHARD_TOKENS = 1 << 29
LOCK = ".lock"


@dataclass
class Progress(Totals):
    """The progress so far, earlier runs included.

    resumed  decompressed bytes of the records that earlier runs have encoded
    stored   bytes of the input files as stored
    """

    resumed: int = 0
    stored: int = 0
    shards: int = 0
    already_complete: bool = False


class BadRecordError(CorpusError):
    """A record cannot be encoded, and the run stops at such records."""


@dataclass(frozen=True)
class Job:
    """One corpus, one folder. `encoder` is an accelerated tokenizer's `lopt`."""

    encoder: Any
    origin: Origin
    folder: Path
    about: dict[str, Any]
    skip_errors: bool

    def run(self, report: Callable[[Progress], None], overwrite: bool = False) -> Progress:
        """Encodes the rest of the corpus. Raises CorpusError. The shards in the manifest are complete at all times.

        The first report covers what earlier runs have done.
        """
        self._refuse_other_files()
        with only_writer(self.folder):
            manifest = self._manifest(overwrite)
            progress = Progress(shards=len(manifest.shards))
            for shard in manifest.shards:
                progress.add(shard)
            progress.resumed = progress.size
            progress.stored = _stored_before(self.origin, _beginning(manifest)[0])
            if manifest.complete:
                progress.already_complete = True
                return progress
            self._remove_leftovers(manifest)
            report(progress)
            with ThreadPoolExecutor(1, "lopt-write") as writer:
                self._encode(manifest, progress, report, writer)
            return progress

    def _refuse_other_files(self) -> None:
        if not self.folder.exists() or (self.folder / NAME).exists():
            return
        # A run that was killed early leaves at most its lock and a partial manifest.
        others = [path.name for path in self.folder.iterdir() if path.name != LOCK and not path.name.startswith(NAME)]
        if others:
            raise CorpusError(f"{self.folder} has other files, such as {min(others)}, and no {NAME}; use another --out")

    def _manifest(self, overwrite: bool) -> Manifest:
        found = Manifest.read(self.folder)
        difference = None if found is None else found.difference(self.origin)
        # An earlier run that encoded no document may be replaced: perhaps its --field was wrong.
        if found is None or overwrite or (difference is not None and not any(one.documents for one in found.shards)):
            # The new manifest replaces the old one; shards that it does not list do not count.
            found = Manifest(self.origin, self.about)
            found.write(self.folder)
        elif difference is not None:
            raise CorpusError(f"{self.folder} was started {difference}; use another --out, or --overwrite")
        return found

    def _remove_leftovers(self, manifest: Manifest) -> None:
        known = {NAME, *(name for shard in manifest.shards for name in shard.files)}
        for path in self.folder.iterdir():
            if path.name.startswith(("shard-", "skipped-", NAME)) and path.name not in known:
                path.unlink()

    def _encode(
        self, manifest: Manifest, progress: Progress, report: Callable[[Progress], None], writer: ThreadPoolExecutor
    ) -> None:
        """Where shards end depends on the origin only: the batch that fills a shard is its last."""
        writing: Future[None] | None = None
        shard = Shard(self.origin.dtype)
        with closing(self._batches(*_beginning(manifest))) as batches:
            for index, batch in batches:
                given = self.origin.inputs[index]
                for problem in batch.problems:
                    if not self.skip_errors:
                        raise BadRecordError(f"{given.name}:{problem.record}: {problem.reason}")
                    shard.problems.append((given, problem))
                encoded = self.encoder.encode_batch_ids(batch.texts, self.origin.add_special_tokens)
                shard.add(encoded)
                done = Totals(len(encoded), len(encoded.ids), batch.size, len(batch.problems))
                shard.entry.add(done)
                shard.entry.next_input, shard.entry.next_record = index, batch.end
                progress.add(done)
                progress.stored = _stored_before(self.origin, index) + batch.position
                if shard.entry.tokens >= self.origin.shard_tokens:
                    if writing is not None:
                        writing.result()
                    writing = writer.submit(self._commit, manifest, shard, complete=False)
                    progress.shards += 1
                    shard = Shard(self.origin.dtype)
                report(progress)
        if writing is not None:
            writing.result()
        self._commit(manifest, shard, complete=True)
        progress.shards = len(manifest.shards)

    def _batches(self, first_input: int, first_record: int) -> Generator[tuple[int, Batch], None, None]:
        for index in range(first_input, len(self.origin.inputs)):
            given = self.origin.inputs[index]
            skip = first_record if index == first_input else 0
            batches = read_batches(given, self.origin.column, self.origin.sample_by, skip, BATCH_BYTES)
            # A thread that is waiting for terminal input cannot be interrupted.
            for batch in batches if given.name == STDIN else _read_next(batches):
                yield index, batch

    def _commit(self, manifest: Manifest, shard: Shard, *, complete: bool) -> None:
        """Writes the files first and the manifest that lists them last."""
        if shard.entry.documents or shard.problems:
            number = len(manifest.shards)
            files = shard.write(self.folder, number, self.origin.shard_format)
            if shard.problems:
                files.append(f"skipped-{number:05d}.jsonl")
                with atomic_file(self.folder / files[-1]) as file:
                    for given, problem in shard.problems:
                        line = {"input": given.name, **asdict(problem)}
                        file.write((json.dumps(line, ensure_ascii=False) + "\n").encode(errors="replace"))
            shard.entry.files = tuple(files)
            manifest.shards.append(shard.entry)
        manifest.complete = complete
        manifest.write(self.folder)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Creates the folder and locks it until this process ends. Raises CorpusError if another process has the lock."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"{folder}: another process is writing to it") from error
        yield


def _read_next(batches: Generator[Batch, None, None]) -> Generator[Batch, None, None]:
    """The same batches; a thread reads the next one while the caller uses the last one."""
    with closing(batches), ThreadPoolExecutor(1, "lopt-read") as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _beginning(manifest: Manifest) -> tuple[int, int]:
    return (manifest.shards[-1].next_input, manifest.shards[-1].next_record) if manifest.shards else (0, 0)


def _stored_before(origin: Origin, index: int) -> int:
    return sum(one.size or 0 for one in origin.inputs[:index])
