"""Latency and accuracy of parallel tokenization of one long prompt, in the form of LoPT's Table 1.

    python benchmarks/papers/lopt_table.py --tokenizers qwen3,llama3 --corpora leval_en,zh --workers 2,4

Methods take turns on a prompt. An accuracy under 1 is an error in a row that is not marked as lossy: its figures are
left out, and the exit status is 1.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tokenizers import Tokenizer, processors

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import prompts, tokenizer_json
from benchmarks.common.report import Table
from benchmarks.common.result import Result, progress, turned
from benchmarks.common.script import Bench, Options, run
from benchmarks.papers.lossy_rivals import delimiter_based, longest_common, on_threads, paper_lopt
from lopt_plugin.pipeline import Unsupported, read_pipeline
from lopt_plugin.routes.hf import HfRoute
from lopt_plugin.routes.hf_chunks.route import HfChunksRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.settings import Settings

TOKENIZERS = ("qwen3", "deepseek_v3", "llama3", "gpt_oss", "bert_base_cased", "bert_base_uncased")
CORPORA = ("leval_en", "zh")
DELIMITERS = {"space": " ", "comma": ",", "period": "."}
OVERLAP_CHARS = 256
CHUNKS_A_WORKER = 4
ABOUT = """\
Milliseconds of a prompt, the median of {prompts} different ones of at most {prompt_chars:,} characters, and
accuracy: the share of prompts whose ids are all those of the HF tokenizer. The lossy methods are what others
publish, LoPT as in the paper among them; `hf_chunks` and `native` are ours."""
Encode = Callable[[str], list[int]]


class Method:
    """A method with a number of workers; its samples are `seconds`, and `equal`: 1 where all ids are HF's."""

    def __init__(self, name: str, workers: int, encode: Encode, lossy: bool = False) -> None:
        self.encode = encode
        self.result = Result(name, {"workers": workers, "lossy": lossy})

    def measure(self, text: str, expected: list[int] | None) -> list[int]:
        """One prompt; `expected` is None for the reference itself."""
        start = time.perf_counter()
        ids = self.encode(text)
        taken = time.perf_counter() - start
        equal = expected is None or ids == expected
        self.result.add({"seconds": taken, "equal": equal})
        self.result.is_error |= not (equal or self.result.case["lossy"])
        return ids


def lossy_methods(tokenizer: Tokenizer, workers: int) -> list[Method]:
    """What others publish."""
    bare = Tokenizer.from_str(tokenizer.to_str())
    # A ByteLevel post-processor would trim spaces off the offsets that methods match.
    bare.post_processor = processors.Sequence([])
    tokenize = on_threads(bare, workers)

    def chunk(text: str) -> int:
        return max(1, len(text) // (CHUNKS_A_WORKER * workers))

    encoders: dict[str, Encode] = {
        f"cut at {name}": lambda text, d=delimiter: delimiter_based(text, chunk(text), d, tokenize)  # type: ignore[misc]
        for name, delimiter in DELIMITERS.items()
    }
    encoders["longest common ids"] = lambda text: longest_common(text, chunk(text), OVERLAP_CHARS, tokenize)
    encoders["LoPT as published"] = lambda text: paper_lopt(text, chunk(text), OVERLAP_CHARS, tokenize).ids
    return [Method(name, workers, encode, lossy=True) for name, encode in encoders.items()]


def our_methods(hf: HfRoute, workers: int) -> list[Method]:
    """Ours, without those that cannot do this tokenizer."""
    settings = Settings.read({}, threads=workers, parallel_min_chars=1, overlap_chars=OVERLAP_CHARS)
    encoders: dict[str, Encode] = {}
    try:
        route = HfChunksRoute(hf, settings)
        encoders["hf_chunks, overlaps only"] = lambda text: route.encode_divided(
            text, route.lengths(len(text)), use_boundaries=False
        )
        encoders["hf_chunks"] = lambda text: route.encode_list(text, PLAIN[False][False])
    except Unsupported as error:
        progress(f"no hf_chunks: {error}")
    try:
        native = NativeRoute(read_pipeline(hf.backend), settings)
        encoders["native"] = lambda text: native.encode_list(text, PLAIN[False][False])
    except Unsupported as error:
        progress(f"no native: {error}")
    return [Method(name, workers, encode) for name, encode in encoders.items()]


def take_turns(reference: Method, others: Sequence[Method], texts: Sequence[str]) -> None:
    """Every prompt by every method; those after the reference take turns in going first."""
    for method in (reference, *others):
        method.encode(texts[0][: len(texts[0]) // 4])
    for turn, text in enumerate(texts):
        expected = reference.measure(text, None)
        for method in turned(others, turn):
            method.measure(text, expected)


def shown(result: Result) -> str:
    """The median latency, and the accuracy."""
    if result.is_error:
        return "ids differ"
    latency = 1e3 * statistics.median(result.samples["seconds"])
    return f"{latency:.1f} ({statistics.mean(result.samples['equal']):.2f})"


def measure(bench: Bench) -> list[Result]:
    """All methods on all tokenizers; for each corpus a table in the paper's form, with a column for each tokenizer."""
    given = bench.given
    results: list[Result] = []
    for corpus in given.corpora:
        texts, remark = prompts(corpus, given.prompts, given.prompt_chars)
        # By the method and its workers, what is shown for each tokenizer.
        methods: dict[tuple[str, str], dict[str, str]] = {}
        for name in given.tokenizers:
            progress(f"{corpus}, {name}")
            tokenizer = Tokenizer.from_str(tokenizer_json(name))
            hf = HfRoute(tokenizer)
            reference = Method("HF", 1, lambda text, hf=hf: hf.encode_list(text, PLAIN[False][False]))
            others: list[Method] = []
            for workers in given.workers:
                others += [*lossy_methods(tokenizer, workers), *our_methods(hf, workers)]
            take_turns(reference, others, texts)
            for result in (method.result for method in (reference, *others)):
                row = f"{result.engine} (lossy)" if result.case["lossy"] else result.engine, str(result.case["workers"])
                methods.setdefault(row, {})[name] = shown(result)
                result.case |= {"tokenizer": name, "corpus": corpus}
                results.append(result)
        rows = [[*row, *(by.get(name, "-") for name in given.tokenizers)] for row, by in methods.items()]
        columns, remarks = ["method", "workers", *given.tokenizers], [remark] if remark else []
        bench.add(Table(columns, rows, f"{corpus}, ms (accuracy)", remarks=remarks))
    return results


if __name__ == "__main__":
    made = Options(__doc__)
    made.add_several("tokenizers", TOKENIZERS, ["tiny_cl100k"])
    made.add_several("corpora", CORPORA, ["zh"])
    made.add("--workers", [2], "threads")
    made.add("--prompts", 5, "for each tokenizer and corpus", 2)
    made.add("--prompt-chars", 700_000, "at most as many characters", 8_000)
    sys.exit(run(made.read(), "lopt_table", "LoPT: Table 1", ABOUT, measure))
