"""Latency and accuracy of parallel tokenization of one long prompt, in the form of LoPT's Table 1.

    python benchmarks/lopt_table.py --tokenizers qwen3,llama3 --corpora leval_en,zh --workers 2,4

Each method tokenizes the same prompts, each of which is another text; methods take turns on a prompt. Accuracy is the
share of prompts whose ids are all equal to those of the HF tokenizer. The methods marked as lossy are what others
publish; an accuracy under 1 in any other row is an error: its figures are left out, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from corpora import corpus_files, prompts
from lossy_rivals import delimiter_based, longest_common, on_threads, paper_lopt
from report import Report, Table, show
from script import add_output, end, errors, names, numbers, parse
from tokenizer_files import tokenizer_files, tokenizer_json
from tokenizers import Tokenizer, processors

from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.hf_chunks import CannotChunkError, HfChunksRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.native_core import NativeUnavailableError
from lopt_plugin.settings import Settings

TOKENIZERS = ("qwen3", "deepseek_v3", "llama3", "gpt_oss", "bert_base_cased", "bert_base_uncased")
CORPORA = ("leval_en", "zh")
DELIMITERS = {"space": " ", "comma": ",", "period": "."}
OVERLAP_CHARS = 256
CHUNKS_A_WORKER = 4
ABOUT = """\
Milliseconds of one prompt, the median of {prompts}, each another text of {prompt_chars:,} characters at most,
and accuracy: the share of prompts whose ids are all those of the HF tokenizer. The lossy methods are what
others publish, LoPT as in the paper among them; `hf_chunks` and `native` are ours."""
Encode = Callable[[str], list[int]]


@dataclass
class Row:
    """A method with a number of workers. Seconds are to be shown only where `problem` is empty."""

    tokenizer: str
    corpus: str
    method: str
    workers: int
    lossy: bool
    encode: Encode | None
    problem: str = ""
    seconds: list[float] = field(default_factory=list)
    equal: list[bool] = field(default_factory=list)

    @property
    def is_error(self) -> bool:
        return not self.lossy and not all(self.equal)

    def figures(self) -> dict[str, Any]:
        """What goes into the JSON file."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "encode"}

    def measure(self, text: str, expected: list[int] | None) -> list[int]:
        """One prompt; `expected` is None for the reference itself."""
        assert self.encode is not None
        start = time.perf_counter()
        ids = self.encode(text)
        self.seconds.append(time.perf_counter() - start)
        self.equal.append(expected is None or ids == expected)
        return ids

    def cells(self, reference: Row) -> list[str]:
        """The method, its workers, the median latency, how many times faster, and accuracy."""
        name = f"{self.method} (lossy)" if self.lossy else self.method
        if self.problem or self.is_error:
            return [name, str(self.workers), "-" if self.problem else "ids differ", "", ""]
        ratios = [a / b for a, b in zip(reference.seconds, self.seconds, strict=True)]
        accuracy = sum(self.equal) / len(self.equal)
        latency = f"{1e3 * statistics.median(self.seconds):.1f}"
        return [name, str(self.workers), latency, f"{statistics.median(ratios):.2f}", f"{accuracy:.2f}"]


class Methods:
    """The methods for one tokenizer; what they build is built before anything is measured."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hf = HfRoute(Tokenizer.from_str(tokenizer_json(name)))
        self.bare = Tokenizer.from_str(tokenizer_json(name))
        # A ByteLevel post-processor would take blanks out of the offsets that methods match.
        self.bare.post_processor = processors.Sequence([])

    def reference(self, corpus: str) -> Row:
        """HF, the whole text by one thread."""
        return self._row(corpus, "HF", 1, lambda text: self.hf.encode_list(text, False, False))

    def rows(self, corpus: str, workers: int) -> list[Row]:
        """Every other method with so many workers."""
        tokenize = on_threads(self.bare, workers)

        def chunk(text: str) -> int:
            return max(1, len(text) // (CHUNKS_A_WORKER * workers))

        rows = [
            self._row(
                corpus,
                f"cut at {name}",
                workers,
                lambda text, d=delimiter: delimiter_based(text, chunk(text), d, tokenize),
                lossy=True,
            )
            for name, delimiter in DELIMITERS.items()
        ]
        rows += [
            self._row(
                corpus,
                "longest common ids",
                workers,
                lambda text: longest_common(text, chunk(text), OVERLAP_CHARS, tokenize),
                lossy=True,
            ),
            self._row(
                corpus,
                "LoPT as published",
                workers,
                lambda text: paper_lopt(text, chunk(text), OVERLAP_CHARS, tokenize).ids,
                lossy=True,
            ),
        ]
        return [*rows, *self._ours(corpus, workers)]

    def _ours(self, corpus: str, workers: int) -> list[Row]:
        settings = Settings.read({}, threads=workers, parallel_min_chars=1, overlap_chars=OVERLAP_CHARS)
        try:
            route = HfChunksRoute(self.hf, settings)
        except CannotChunkError as error:
            rows = [self._row(corpus, "hf_chunks", workers, None, problem=str(error))]
        else:
            rows = [
                self._row(
                    corpus,
                    "hf_chunks, overlaps only",
                    workers,
                    lambda text: route.encode_divided(text, route.lengths(len(text)), use_cuts=False),
                ),
                self._row(corpus, "hf_chunks", workers, lambda text: route.encode_list(text, False, False)),
            ]
        pipeline = read_pipeline(self.hf.backend)
        try:
            if not isinstance(pipeline, Pipeline):
                raise NativeUnavailableError(pipeline.reason)
            native = NativeRoute(pipeline, settings)
        except NativeUnavailableError as error:
            return [*rows, self._row(corpus, "native", workers, None, problem=str(error))]
        return [*rows, self._row(corpus, "native", workers, lambda text: native.encode_list(text, False, False))]

    def _row(
        self, corpus: str, method: str, workers: int, encode: Encode | None, *, lossy: bool = False, problem: str = ""
    ) -> Row:
        return Row(self.name, corpus, method, workers, lossy, encode, problem)


def measure(rows: Sequence[Row], texts: Sequence[str]) -> None:
    """Every prompt by every row, the first of which is the reference. The others take turns in going first."""
    reference, *others = rows
    able = [row for row in others if row.encode is not None]
    for row in (reference, *able):
        assert row.encode is not None
        row.encode(texts[0][: len(texts[0]) // 4])
    for number, text in enumerate(texts):
        expected = reference.measure(text, None)
        shift = number % max(1, len(able))
        for row in able[shift:] + able[:shift]:
            row.measure(text, expected)


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    print(f"{machine_line()}\n", flush=True)
    report = Report("LoPT: Table 1", ABOUT.format(**vars(given)))
    measured: list[Row] = []
    for name in given.tokenizers:
        methods = Methods(name)
        for corpus in given.corpora:
            found = prompts(corpus, given.prompts, given.prompt_chars)
            reference = methods.reference(corpus)
            rows = [reference, *(row for workers in given.workers for row in methods.rows(corpus, workers))]
            measure(rows, found.texts)
            title = f"{name}, {len(found.texts)} prompts of {len(found.texts[0]):,} characters of {corpus}"
            columns = ("method", "workers", "latency ms", "times HF", "accuracy")
            title = f"{title} ({found.remark})" if found.remark else title
            problems = dict.fromkeys(f"{row.method}: {row.problem}" for row in rows if row.problem)
            table = Table(columns, [row.cells(reference) for row in rows], title, remarks=list(problems))
            show(table, given.markdown)
            measured += rows
    report.tables += [_overview(corpus, measured) for corpus in given.corpora]
    return end(given, "lopt_table", [row.figures() for row in measured], report, errors(measured))


def _overview(corpus: str, measured: Sequence[Row]) -> Table:
    """The paper's form: a row for each method, a column for each tokenizer."""
    rows = [row for row in measured if row.corpus == corpus]
    tokenizers = list(dict.fromkeys(row.tokenizer for row in rows))
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for row in rows:
        reference = next(one for one in rows if one.tokenizer == row.tokenizer)
        name, workers, latency, _, accuracy = row.cells(reference)
        cells.setdefault((name, int(workers)), {})[row.tokenizer] = f"{latency} ({accuracy})" if accuracy else latency
    table = [[name, str(n), *(by.get(one, "-") for one in tokenizers)] for (name, n), by in cells.items()]
    return Table(["method", "workers", *tokenizers], table, f"{corpus}, ms (accuracy)")


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = tokenizer_files()
    default = [name for name in TOKENIZERS if name in known] or list(known)
    made.add_argument("--tokenizers", type=names, default=default, help=f"default {','.join(default)}")
    known_corpora = corpus_files()
    default = [name for name in CORPORA if name in known_corpora] or list(known_corpora)
    made.add_argument("--corpora", type=names, default=default, help=f"default {','.join(default)}")
    made.add_argument("--workers", type=numbers, default=[2], help="default 2")
    made.add_argument("--prompts", type=int, default=5, help="for each tokenizer and corpus (default 5)")
    made.add_argument("--prompt-chars", type=int, default=700_000, help="at most as many characters (default 700000)")
    add_output(made)
    return parse(made, {"tokenizers": ["tiny_cl100k"], "corpora": ["zh"], "prompts": 2, "prompt_chars": 8_000})


if __name__ == "__main__":
    sys.exit(main())
