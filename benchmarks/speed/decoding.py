"""Ids to text: single ids, streams, rows, and ids to tokens, beside Hugging Face in the same process.

python benchmarks/speed/decoding.py --tokenizers qwen3,gemma3
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream
from transformers import PreTrainedTokenizerFast

import lopt_plugin
from benchmarks.common.data import known_corpus, tokenizer_json, whole_text
from benchmarks.common.report import Table
from benchmarks.common.result import Result
from benchmarks.common.script import Bench, Options, run

STREAMS, ROWS, ROW = 256, 1024, 200
ABOUT = """\
CPU time of one thread, per id; the median of {repeat} repetitions in which the two alternate. The ids are those of
real text. Streams: {streams} of them, one id each in turn, as an engine steps through its requests. Every answer is
compared with Hugging Face's first."""


def measure(bench: Bench) -> list[Result]:
    """Microseconds per id of Hugging Face and of lopt."""
    given, results = bench.given, []
    for name in given.tokenizers:
        original = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer_json(name)))
        ids = original.encode(whole_text(given.corpus)[0][: given.chars], add_special_tokens=False)
        ids = (ids * (1 + STREAMS * 40 // len(ids)))[: max(len(ids), STREAMS * 40)]
        results += [_result(name, what, work, len(ids), given.repeat) for what, work in _cases(original, ids).items()]
    columns = ("tokenizer", "what", "Hugging Face \u00b5s", "lopt \u00b5s", "ratio")
    bench.report.tables.append(Table(columns, [_cells(result) for result in results], "From ids to text"))
    return results


def _cases(original: Any, ids: list[int]) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """By name, what Hugging Face does and what lopt does."""
    backend = original.backend_tokenizer
    accelerated = lopt_plugin.accelerate(original, threads=1)
    lopt = accelerated.lopt
    rows = [ids[start : start + ROW] for start in range(0, len(ids), ROW)]
    alone = [[number] for number in ids]
    turns = [ids[start : start + STREAMS] for start in range(0, len(ids), STREAMS)]

    def reference_streams() -> list[str | None]:
        steps = [DecodeStream(skip_special_tokens=True).step for _ in range(STREAMS)]
        return [step(backend, number) for turn in turns for step, number in zip(steps, turn, strict=False)]

    def streams() -> list[str | None]:
        steps = [lopt.decode_stream(skip_special_tokens=True).step for _ in range(STREAMS)]
        return [step(number) for turn in turns for step, number in zip(steps, turn, strict=False)]

    return {
        "one id, tokenizer.decode": (lambda: [*map(original.decode, alone)], lambda: [*map(accelerated.decode, alone)]),
        "one id, lopt.decode_ids": (lambda: [*map(original.decode, alone)], lambda: [*map(lopt.decode_ids, alone)]),
        f"streams, {STREAMS} at once": (reference_streams, streams),
        f"batch_decode, rows of {ROW}": (lambda: original.batch_decode(rows), lambda: accelerated.batch_decode(rows)),
        "convert_ids_to_tokens": (
            lambda: original.convert_ids_to_tokens(ids),
            lambda: accelerated.convert_ids_to_tokens(ids),
        ),
    }


def _result(name: str, what: str, work: tuple[Callable[[], Any], Callable[[], Any]], ids: int, repeat: int) -> Result:
    result = Result("lopt", {"tokenizer": name, "what": what})
    reference, ours = work
    if ours() != reference():
        result.problem, result.is_error = "the texts differ", True
        return result
    for _ in range(repeat):
        result.add({"hf": _microseconds(reference) / ids, "lopt": _microseconds(ours) / ids})
    return result


def _microseconds(work: Callable[[], Any]) -> float:
    start = time.thread_time()
    work()
    return 1e6 * (time.thread_time() - start)


def _cells(result: Result) -> Sequence[str]:
    case = [result.case["tokenizer"], result.case["what"]]
    hf, lopt = result.median("hf"), result.median("lopt")
    if hf is None or lopt is None:
        return [*case, result.problem, "", ""]
    return [*case, f"{hf:.3f}", f"{lopt:.3f}", f"{hf / lopt:.1f}"]


if __name__ == "__main__":
    made = Options(__doc__)
    made.add_several("tokenizers", ["qwen3", "llama2", "gemma3", "bert_base_uncased"], ["tiny_qwen2"])
    made.add("--corpus", known_corpus("books_en"), "name or path")
    made.add("--chars", 1_000_000, "at most that many characters", 20_000)
    made.add("--repeat", 7, "repetitions", 1)
    made.set_defaults(streams=STREAMS)
    sys.exit(run(made.read(), "decoding", "From ids to text", ABOUT, measure))
