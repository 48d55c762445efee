"""Pre-tokenizers alone, in the form of Peek2's microbenchmark: a scan of ours beside the regex engine of HF.

    python benchmarks/peek2.py --tokenizers llama3,qwen3 --corpora leval_en,zh,code,math

HF's Split and the native scan are timed to their own results, which hold no Python object a pre-token, and once more to
a Python list; the `regex` package to a list. All methods take turns on a text in one process: pre-tokenizing has no
caches. The pre-tokens of every text are compared with those of HF's Split before any number is shown.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpora import corpus_files, prompts
from report import Plot, Report, Table, number
from script import add_output, end, errors, known_corpus, names, parse
from tokenizer_files import tokenizer_files, tokenizer_json
from tokenizers import PreTokenizedString, Tokenizer, pre_tokenizers

from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings

TOKENIZERS = ("llama3", "qwen3", "gpt_oss")
CORPORA = ("zh", "code", "math")  # and English
ABOUT = """\
The pre-tokenizer alone, one thread, {prompts} texts of {prompt_chars:,} characters of each corpus, MB/s,
medians. `HF Split` is the Split step of the tokenizer (a regex engine), `scan` the native core's: each to its
own result, and to a Python list of pieces and places. `regex` is the Python package of that name. The
pre-tokens of every text are the same."""
Ends = list[int]


@dataclass
class Method:
    """`prepare` is not timed; `split` is; `ends`, in bytes of UTF-8, are compared and not timed."""

    name: str
    prepare: Callable[[str], Any]
    split: Callable[[Any], Any]
    ends: Callable[[Any, str], Ends]


@dataclass
class Row:
    """A method on a tokenizer and a corpus; MB/s of each text."""

    tokenizer: str
    corpus: str
    method: str
    is_error: bool = False
    speeds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """None where pre-tokens differ."""
        return None if self.is_error or not self.speeds else statistics.median(self.speeds)


def methods(name: str) -> list[Method]:
    """HF's Split, which the others are compared with, and the others. Raises ValueError where there is no one Split."""
    tokenizer = Tokenizer.from_str(tokenizer_json(name))
    pipeline = read_pipeline(tokenizer)
    if not isinstance(pipeline, Pipeline):
        raise ValueError(f"{name}: {pipeline.reason}")
    core = NativeRoute(pipeline, Settings.read({}, threads=1)).core
    split, pattern = _split_of(name)

    def apart(text: str) -> PreTokenizedString:
        return PreTokenizedString(text)

    def split_alone(text: PreTokenizedString) -> PreTokenizedString:
        split.pre_tokenize(text)
        return text

    def same(text: str) -> str:
        return text

    found = [
        Method("HF Split", apart, split_alone, lambda result, text: _ends(_pieces(result))),
        Method("scan", same, core.pre_token_array, lambda result, text: result[:, 1].tolist()),
        Method("HF Split, list", same, split.pre_tokenize_str, lambda result, text: _ends(p for p, _ in result)),
        Method("scan, list", same, core.pre_tokens, lambda result, text: [end for _, end in result]),
    ]
    try:
        import regex
    except ImportError:
        return found
    compiled = regex.compile(pattern)
    return [*found, Method("regex, list", same, compiled.findall, lambda result, text: _ends(result))]


def measure(name: str, corpus: str, texts: Sequence[str]) -> list[Row]:
    """Every method on every text, in turns."""
    found = methods(name)
    rows = {method.name: Row(name, corpus, method.name) for method in found}
    for turn, text in enumerate(texts):
        size = len(text.encode()) / 1e6
        ends = {}
        for method in found[turn % len(found) :] + found[: turn % len(found)]:
            # A string of its own for each: CPython keeps its UTF-8 copy once somebody asked for it.
            given = method.prepare(_copied(text))
            start = time.perf_counter()
            result = method.split(given)
            rows[method.name].speeds.append(size / (time.perf_counter() - start))
            ends[method.name] = method.ends(result, text)
            del given, result
        for method_name, seen in ends.items():
            rows[method_name].is_error |= seen != ends[found[0].name]
    return list(rows.values())


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    print(f"{machine_line()}\n", flush=True)
    report = Report("Peek2: pre-tokenizers alone", ABOUT.format(**vars(given)))
    rows: list[Row] = []
    for name in given.tokenizers:
        of_corpora = {}
        for corpus in given.corpora:
            found = prompts(corpus, given.prompts, given.prompt_chars)
            of_corpora[corpus] = {row.method: row for row in measure(name, corpus, found.texts)}
            rows += of_corpora[corpus].values()
        report.tables.append(_table(name, of_corpora))
        report.plots.append(
            Plot(
                f"peek2_{name}",
                f"Pre-tokenizing alone, {name}, one thread",
                "",
                "MB/s",
                {
                    method: [by_method[method].median or 0.0 for by_method in of_corpora.values()]
                    for method in next(iter(of_corpora.values()))
                },
                groups=list(of_corpora),
            )
        )
        report.others_win += [
            f"{name}, {corpus}, {method}: {theirs / ours:.2f} times"
            for corpus, by in of_corpora.items()
            for method, own in (("HF Split", "scan"), ("HF Split, list", "scan, list"), ("regex, list", "scan, list"))
            if method in by and (theirs := by[method].median) and (ours := by[own].median) and theirs > ours
        ]
    return end(given, "peek2", [vars(row) for row in rows], report, errors(rows))


def _table(name: str, of_corpora: dict[str, dict[str, Row]]) -> Table:
    first = next(iter(of_corpora.values()))
    cells = [
        [corpus, *("differs" if row.is_error else number(row.median) for row in by.values()), _times(by)]
        for corpus, by in of_corpora.items()
    ]
    return Table([name, *first, "scan x HF Split"], cells, f"{name}, MB/s")


def _times(by_method: dict[str, Row]) -> str:
    pairs = zip(by_method["scan"].speeds, by_method["HF Split"].speeds, strict=True)
    return number(statistics.median(ours / theirs for ours, theirs in pairs))


def _split_of(name: str) -> tuple[pre_tokenizers.PreTokenizer, str]:
    import json

    from tokenizers import Regex

    content = json.loads(tokenizer_json(name))["pre_tokenizer"]
    steps = content.get("pretokenizers", [content])
    if [step["type"] for step in steps] != ["Split", "ByteLevel"] or steps[1]["use_regex"]:
        raise ValueError(f"{name}: its pre-tokenizer is not one Split and bytes")
    split = steps[0]
    pattern = split["pattern"]["Regex"]
    behavior = split["behavior"].lower()
    return pre_tokenizers.Split(Regex(pattern), behavior, split["invert"]), pattern


def _pieces(split: PreTokenizedString) -> list[str]:
    return [piece for piece, _, _ in split.get_splits()]


def _ends(pieces: Any) -> Ends:
    return list(itertools.accumulate(len(piece.encode()) for piece in pieces))


def _copied(text: str) -> str:
    return "".join([text[:1], text[1:]])


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = [name for name in TOKENIZERS if name in tokenizer_files()]
    made.add_argument("--tokenizers", type=names, default=default, help="names or paths (default %(default)s)")
    default = [known_corpus("leval_en"), *(name for name in CORPORA if name in corpus_files())]
    made.add_argument("--corpora", type=names, default=default, help="names or paths (default %(default)s)")
    made.add_argument("--prompts", type=int, default=15, help="texts of a corpus (default %(default)s)")
    made.add_argument("--prompt-chars", type=int, default=100_000, help="characters of a text (default %(default)s)")
    add_output(made)
    quick = {
        "tokenizers": ["tiny_cl100k", "tiny_qwen2"],
        "corpora": ["books_en", "zh", "code"],
        "prompts": 6,
        "prompt_chars": 2_000,
    }
    return parse(made, quick)


if __name__ == "__main__":
    sys.exit(main())
