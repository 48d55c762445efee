"""manifest.json: the origin of a folder of shards, and its progress. A shard counts once the manifest lists it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from ...unicode_tables.files import atomic_file
from .inputs import CorpusError, Input

FORMAT = 1
NAME = "manifest.json"


@dataclass(frozen=True)
class Origin:
    """Everything that determines the ids and the division into shards; a run is resumed only if it is unchanged.

    tokenizer  sha256 of the tokenizer's JSON
    dtype      of the ids in the files, int32 or uint16
    """

    tokenizer: str
    column: str
    sample_by: str
    add_special_tokens: bool
    shard_format: str
    dtype: str
    shard_tokens: int
    inputs: tuple[Input, ...]


@dataclass
class Totals:
    """Counts over some records; `size` is their decompressed bytes."""

    documents: int = 0
    tokens: int = 0
    size: int = 0
    skipped: int = 0

    def add(self, more: Totals) -> None:
        """Adds the counts of more records."""
        for each in fields(Totals):
            setattr(self, each.name, getattr(self, each.name) + getattr(more, each.name))


@dataclass
class ShardEntry(Totals):
    """A finished shard. The next one starts after record `next_record` (from 1) of input `next_input` (from 0)."""

    files: tuple[str, ...] = ()
    next_input: int = 0
    next_record: int = 0


@dataclass
class Manifest:
    """`about` is for readers: the model's name and versions."""

    origin: Origin
    about: dict[str, Any]
    shards: list[ShardEntry] = field(default_factory=list)
    complete: bool = False

    def write(self, folder: Path) -> None:
        """Replaces the folder's manifest."""
        content = {"format": FORMAT, **self.about, **asdict(self)}
        del content["about"]
        with atomic_file(folder / NAME) as file:
            file.write((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())

    @classmethod
    def read(cls, folder: Path) -> Manifest | None:
        """The folder's manifest; None if there is none. Raises CorpusError for one that this version cannot read."""
        try:
            content = json.loads((folder / NAME).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise CorpusError(f"{folder / NAME}: {error}") from error
        try:
            if content.pop("format") != FORMAT:
                raise CorpusError(f"{folder / NAME}: written by another version of lopt_plugin; use another --out")
            origin = content.pop("origin")
            origin["inputs"] = tuple(Input(**one) for one in origin["inputs"])
            shards = [ShardEntry(**{**one, "files": tuple(one["files"])}) for one in content.pop("shards")]
            return cls(Origin(**origin), shards=shards, complete=content.pop("complete"), about=content)
        except (KeyError, TypeError, AttributeError) as error:
            raise CorpusError(f"{folder / NAME}: not a manifest of lopt encode: {error!r}") from error

    def difference(self, origin: Origin) -> str | None:
        """A description of how a run differs from this origin; None if it does not."""
        then, now = vars(self.origin), vars(origin)
        name = next((name for name in then if then[name] != now[name]), None)
        if name is None:
            return None
        if name == "tokenizer":
            return "with another tokenizer"
        if name != "inputs":
            return f"with {name} {then[name]!r}, not {now[name]!r}"
        changed = [new.name for old, new in zip(then[name], now[name], strict=False) if old != new]
        if [one.name for one in then[name]] == [one.name for one in now[name]]:
            return f"from the same inputs, but {changed[0]} has changed since"
        return f"from other inputs ({len(then[name])}, the first {then[name][0].name})"
