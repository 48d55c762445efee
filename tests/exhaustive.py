"""Compares every way to ids with Hugging Face's over all tokenizers, texts and seeds; prints counts, keeps differences.

    python tests/exhaustive.py --differences out.jsonl [--seeds 10] [--corpora] [NAMES]

Too long for the suite: with ../shared, some hours. Exit status 1 where anything differs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).with_name("support")))

import corpus

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.pipeline import Unsupported
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.hf_chunks.division import Lengths
from lopt_plugin.routes.hf_chunks.route import HfChunksRoute
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.settings import Settings

_ASKED_AT_ONCE = 64


class Comparison:
    """One tokenizer's ways to ids. `counts` holds comparisons by way, `different` the ways and texts that differ."""

    def __init__(self, name: str, differences: Path, divided_documents: int) -> None:
        self.name = name
        self._divided_documents = divided_documents
        self.counts: Counter[str] = Counter()
        self.different: Counter[str] = Counter()
        self._differences = differences
        self._reference = corpus.load_tokenizer(name)
        self._hf = HfRoute(self._reference)
        self._encoder = Encoder(corpus.load_tokenizer(name), Settings.read({}, threads=1, prefix_cache_mb=0))
        self.reason = self._encoder.explain()["reason"]
        native = self._encoder._runner.state.snapshot().native
        self._core = None if native is None else native.core
        self._gives_offsets = native is not None and native.gives_offsets
        self._remembering = self._new_remembering() if self._core is not None else None
        try:
            self._chunks = HfChunksRoute(HfRoute(corpus.load_tokenizer(name)), Settings.read({}, threads=2))
        except Unsupported:
            self._chunks = None

    def texts(self, texts: list[str], rng: random.Random, documents: bool) -> None:
        """Compares all ways, for texts that are short, or for documents, of which fewer lengths of chunks are tried."""
        for start in range(0, len(texts), _ASKED_AT_ONCE):
            rows = texts[start : start + _ASKED_AT_ONCE]
            encodings = self._hf.encodings(rows, PLAIN[False][False])
            want = [encoding.ids for encoding in encodings]
            self._batch(rows, want)
            for number, (text, encoding, ids) in enumerate(zip(rows, encodings, want, strict=True), start):
                self._single(text, ids, encoding.offsets)
                if self._core is not None:
                    self._native_chunks(text, ids, rng, documents)
                    self._known_beginnings(text, ids, rng)
                    self._growing(text, ids, rng)
                    self._counts_and_cuts(text, ids, rng)
                if not documents or number % self._divided_documents == 0:
                    self._hf_chunks(text, ids, rng, documents)
            if not documents:
                self._split_special(rows)

    def _same(self, way: str, text: str, got: Any, want: Any, detail: str = "") -> None:
        self.counts[way] += 1
        if got == want:
            return
        self.different[way] += 1
        line = {"tokenizer": self.name, "way": way, "detail": detail, "text": text}
        with self._differences.open("a") as out:
            print(json.dumps(line), file=out)

    def _single(self, text: str, ids: list[int], offsets: list[tuple[int, int]]) -> None:
        self._same("list", text, self._encoder.encode_list(text, False), ids)
        self._same("array", text, self._encoder.encode_ids(text, False).tolist(), ids)
        if self._gives_offsets:
            got, places = self._encoder.encode_with_offsets(text, False)
            self._same("offsets", text, (got.tolist(), list(map(tuple, places.tolist()))), (ids, offsets))

    def _batch(self, rows: list[str], want: list[list[int]]) -> None:
        batch = self._encoder.encode_batch_ids(rows, False)
        for index, (text, ids) in enumerate(zip(rows, want, strict=True)):
            self._same("batch", text, batch.row(index).tolist(), ids)
        if self._core is not None:
            for text, got, ids in zip(rows, self._core.encode_batch_lists(rows, 2), want, strict=True):
                self._same("batch, threads 2", text, got, ids)

    def _split_special(self, rows: Any) -> None:
        for text, encoding in zip(rows, self._hf.encodings(rows, PLAIN[False][True]), strict=True):
            got = self._encoder.encode_list(text, False, split_special_tokens=True)
            self._same("split special tokens", text, got, encoding.ids)

    def _native_chunks(self, text: str, ids: list[int], rng: random.Random, documents: bool) -> None:
        least = max(1, len(text) // 300)
        for length in [rng.randint(1000, 30_000)] if documents else [least, least + rng.randint(1, 12), least + 40]:
            got = self._core.encode(text, 2, length)
            self._same("native chunks", text, got, ids, f"threads 2, chunk {length}")
        length = least + rng.randint(1, 60)
        got = self._core.encode_array(text, 3, length).tolist()
        self._same("native chunks, array", text, got, ids, f"threads 3, chunk {length}")

    def _hf_chunks(self, text: str, ids: list[int], rng: random.Random, documents: bool) -> None:
        if self._chunks is None:
            return
        least = max(1, len(text) // 60)
        lengths = [Lengths(least + rng.randint(1, 40), rng.randint(4, 40), rng.randint(1, 2))]
        if documents:
            lengths = [Lengths(rng.randint(2000, 20_000), rng.randint(32, 300))]
        for length in lengths:
            for use_boundaries in (False, True):
                got = self._chunks.encode_divided(text, length, use_boundaries=use_boundaries, alone=True)
                way = "hf_chunks, boundaries" if use_boundaries else "hf_chunks, overlaps"
                self._same(way, text, got, ids, repr(length))

    def _new_remembering(self) -> Any:
        encoder = Encoder(corpus.load_tokenizer(self.name), Settings.read({}, threads=1, prefix_cache_mb=0))
        core = encoder._runner.state.snapshot().native.core
        core.remember_prefixes(16 << 20, 8)
        core.trust_seams()
        return core

    def _known_beginnings(self, text: str, ids: list[int], rng: random.Random) -> None:
        """The text as it grows, then again, then with another end: each is told from what is known of its beginning."""
        core = self._remembering
        stops = sorted(rng.randint(0, len(text)) for _ in range(3))
        for beginning in (text[:stop] for stop in stops):
            self._same("grown", beginning, core.encode(beginning), self._core.encode(beginning), "core against core")
        for _ in range(2):
            self._same("known", text, core.encode(text), ids)
        self._same("known, array", text, core.encode_array(text).tolist(), ids)
        other = text[: stops[-1]] + rng.choice(["'s", " x", "1", "\n", "\u4e2d", "\u0301", "e", ""])
        self._same("branched", other, core.encode(other), self._core.encode(other), "core against core")

    def _growing(self, text: str, ids: list[int], rng: random.Random) -> None:
        growing = self._encoder.incremental(add_special_tokens=False)
        stops = [0, *sorted(rng.randint(0, len(text)) for _ in range(rng.randint(1, 6))), len(text)]
        updated: list[int] = []
        for start, stop in itertools.pairwise(stops):
            growing.append(text[start:stop])
            growing.update(updated)
            if rng.random() < 0.4:
                want = ids if stop == len(text) else self._core.encode(text[:stop])
                self._same("appended", text[:stop], growing.ids, want, f"{stops}")
                self._same("appended, count", text[:stop], growing.count, len(want), f"{stops}")
        self._same("appended", text, growing.ids, ids, f"{stops}")
        self._same("updated", text, updated, ids, f"{stops}")

    def _counts_and_cuts(self, text: str, ids: list[int], rng: random.Random) -> None:
        self._same("count", text, self._core.count(text), len(ids))
        most = rng.randint(0, len(ids) + 1)
        self._same("first", text, self._core.encode_first(text, most), ids[:most], f"{most}")
        until = len(ids) if len(ids) <= most else None
        self._same("count until", text, self._core.count_until(text, most), until, f"{most}")
        end = self._core.cut(text, most)
        if end is not None:  # otherwise Hugging Face searches
            longer = range(end + 1, min(len(text), end + 12) + 1)
            counts = [len(self._core.encode(text[:stop])) for stop in (end, *longer)]
            right = [True, *(False for _ in longer)]
            self._same("cut", text, [count <= most for count in counts], right, f"{most}")
        if len(text) < 2000:
            intervals = self._core.intervals(text)
            start, stop = sorted(rng.randint(0, len(text)) for _ in range(2))
            number = len(self._core.encode(text[start:stop]))
            self._same("interval", text, intervals.count(start, stop), number, f"{start, stop}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--corpora", action="store_true")
    parser.add_argument("--characters", type=int, default=1 << 40, help="at most so many characters a corpus")
    parser.add_argument(
        "--divided-documents", type=int, default=1, help="of so many documents, one goes through hf_chunks, the slowest"
    )
    parser.add_argument("--differences", type=Path, required=True)
    options = parser.parse_args()
    all_counts: Counter[str] = Counter()
    differences = 0
    for name in options.names or corpus.tokenizer_names():
        start, characters = time.perf_counter(), 0
        comparison = Comparison(name, options.differences, options.divided_documents)
        rng = random.Random(name)
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            for family in corpus.conformance_families():
                texts = corpus.conformance(family, seed)
                characters += sum(map(len, texts))
                comparison.texts(texts, rng, documents=False)
        for source in corpus.corpora() if options.corpora else []:
            texts = corpus.texts(source, options.characters)
            characters += sum(map(len, texts))
            comparison.texts(texts, rng, documents=True)
        seconds = time.perf_counter() - start
        different = comparison.different.total()
        print(f"{name}: {characters:,} characters, {comparison.counts.total():,} comparisons, {different} differences")
        print(
            f"    {seconds:.0f} s; {comparison.reason}; {dict(comparison.different or comparison.counts)}", flush=True
        )
        all_counts += comparison.counts
        differences += comparison.different.total()
    print(f"{all_counts.total():,} comparisons, {differences} differences; {dict(all_counts)}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
