"""Pre-tokenizers alone, in the form of Peek2's microbenchmark: a scan of ours beside the regex engine of HF.

    python benchmarks/papers/peek2.py --tokenizers llama3,qwen3 --corpora leval_en,zh,code,math

The native results of HF's Split and of the scan have no Python object for each pre-token. All methods take turns on a
text in one process, since pre-tokenizing has no caches. The pre-tokens of every text are compared with those of HF's
Split before any number is shown.
"""

from __future__ import annotations

import gc
import itertools
import json
import operator
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import PreTokenizedString, Regex, Tokenizer, pre_tokenizers

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import prompts, tokenizer_json
from benchmarks.common.report import Plot, Table, number
from benchmarks.common.result import Result, turned
from benchmarks.common.script import Bench, Options, run
from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings

TOKENIZERS = ("llama3", "qwen3", "gpt_oss")
CORPORA = ("leval_en", "zh", "code", "math")
ABOUT = """\
The pre-tokenizer alone, one thread, {prompts} texts of {prompt_chars:,} characters of each corpus, MB/s,
medians. `HF Split` is the Split step of the tokenizer (a regex engine), `scan` the native core's: each to its
own result, and to a Python list of pieces and offsets. `regex` is the Python package of that name. The
pre-tokens of every text are the same."""
Ends = list[int]


@dataclass
class Method:
    """`prepare` is not timed; `split` is; `ends`, in bytes of UTF-8, are compared and not timed."""

    name: str
    prepare: Callable[[str], Any]
    split: Callable[[Any], Any]
    ends: Callable[[Any], Ends]


def methods(name: str) -> list[Method]:
    """HF's Split, which the others are compared with, and the others. Raises where there is no one Split."""
    tokenizer = Tokenizer.from_str(tokenizer_json(name))
    pipeline = read_pipeline(tokenizer)
    core = NativeRoute(pipeline, Settings.read({}, threads=1)).core
    split, pattern = _split_of(name)

    def split_alone(text: PreTokenizedString) -> PreTokenizedString:
        split.pre_tokenize(text)
        return text

    found = [
        Method("HF Split", PreTokenizedString, split_alone, lambda result: _ends(p for p, *_ in result.get_splits())),
        Method("scan", str, core.pre_tokens, lambda result: result[:, 1].tolist()),
        Method("HF Split, list", str, split.pre_tokenize_str, lambda result: _ends(p for p, _ in result)),
        Method(
            "scan, list", str, lambda text: core.pre_tokens(text).tolist(), lambda result: [end for _, end in result]
        ),
    ]
    try:
        import regex
    except ImportError:
        return found
    compiled = regex.compile(pattern)
    return [*found, Method("regex, list", str, compiled.findall, _ends)]


def speeds(name: str, corpus: str, texts: Sequence[str]) -> dict[str, Result]:
    """Every method on every text, in turns; by method. `speed`: MB/s."""
    found = methods(name)
    results = {method.name: Result(method.name, {"tokenizer": name, "corpus": corpus}) for method in found}
    for turn, text in enumerate(texts):
        size = len(text.encode()) / 1e6
        ends = {}
        for method in turned(found, turn):
            # Each gets its own string: CPython keeps a string's UTF-8 copy once it was asked for.
            given = method.prepare("".join([text[:1], text[1:]]))
            gc.disable()  # it would run in whichever call comes next, over the lists of all
            start = time.perf_counter()
            result = method.split(given)
            results[method.name].add({"speed": size / (time.perf_counter() - start)})
            gc.enable()
            ends[method.name] = method.ends(result)
            del given, result
        for method_name, seen in ends.items():
            if seen != ends[found[0].name]:
                results[method_name].problem, results[method_name].is_error = "differs", True
    for result in results.values():
        if result.problem:
            result.samples.clear()
    return results


def measure(bench: Bench) -> list[Result]:
    """All methods on all tokenizers and corpora."""
    report, results = bench.report, []
    for name in bench.given.tokenizers:
        of_corpora = {}
        for corpus in bench.given.corpora:
            texts = prompts(corpus, bench.given.prompts, bench.given.prompt_chars)[0]
            of_corpora[corpus] = speeds(name, corpus, texts)
            results += of_corpora[corpus].values()
        report.tables.append(_table(name, of_corpora))
        series = {
            method: [by[method].median("speed") or 0.0 for by in of_corpora.values()]
            for method in next(iter(of_corpora.values()))
        }
        title = f"Pre-tokenizing alone, {name}, one thread"
        report.plots.append(Plot(f"peek2_{name}", title, "", "MB/s", series, groups=list(of_corpora)))
        report.others_win += [
            f"{name}, {corpus}, {method}: {theirs / ours:.2f} times"
            for corpus, by in of_corpora.items()
            for method, own in (("HF Split", "scan"), ("HF Split, list", "scan, list"), ("regex, list", "scan, list"))
            if method in by and (theirs := by[method].median("speed")) and (ours := by[own].median("speed"))
            if theirs > ours
        ]
    return results


def _table(name: str, of_corpora: dict[str, dict[str, Result]]) -> Table:
    first = next(iter(of_corpora.values()))
    cells = [
        [corpus, *(result.problem or number(result.median("speed")) for result in by.values()), _times(by)]
        for corpus, by in of_corpora.items()
    ]
    return Table([name, *first, "scan x HF Split"], cells, f"{name}, MB/s")


def _times(by_method: dict[str, Result]) -> str:
    ours, theirs = (by_method[method].samples.get("speed", []) for method in ("scan", "HF Split"))
    return number(statistics.median(map(operator.truediv, ours, theirs)) if ours else None)


def _split_of(name: str) -> tuple[pre_tokenizers.PreTokenizer, str]:
    content = json.loads(tokenizer_json(name))["pre_tokenizer"]
    steps = content.get("pretokenizers", [content])
    if [step["type"] for step in steps] != ["Split", "ByteLevel"] or steps[1]["use_regex"]:
        raise ValueError(f"{name}: its pre-tokenizer is not one Split and bytes")
    split = steps[0]
    pattern = split["pattern"]["Regex"]
    behavior = split["behavior"].lower()
    return pre_tokenizers.Split(Regex(pattern), behavior, split["invert"]), pattern


def _ends(pieces: Iterable[str]) -> Ends:
    return list(itertools.accumulate(len(piece.encode()) for piece in pieces))


if __name__ == "__main__":
    made = Options(__doc__)
    made.add_several("tokenizers", TOKENIZERS, ["tiny_cl100k", "tiny_qwen2"])
    made.add_several("corpora", CORPORA, ["books_en", "zh", "code"])
    made.add("--prompts", 15, "texts of a corpus", 6)
    made.add("--prompt-chars", 100_000, "characters of a text", 2_000)
    sys.exit(run(made.read(), "peek2", "Peek2: pre-tokenizers alone", ABOUT, measure))
