"""Speed of one prompt at a time, beside the peers, on prompts that all differ.

python benchmarks/speed/speed.py --tokenizers qwen3,llama3 --corpora leval_en,code --repeat 5 --json speed.json
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import prompts, tokenizer_json
from benchmarks.common.engines import engine_class
from benchmarks.common.report import Plot, Table, number
from benchmarks.common.result import Race, Result, medians_by, progress, remarks, turned
from benchmarks.common.script import Bench, Options, run
from lopt_plugin.cli.benchmarking.prompts import random_words
from lopt_plugin.cli.benchmarking.worker import Measurement

TOKENIZERS = ("qwen3", "llama3")
CORPORA = ("leval_en", "math", "chat", "code", "zh", "multi")
ENGINE_NAMES = ("hf", "lopt", "lopt_array", "tiktoken", "fastokens", "gigatoken", "gigatoken_batch", "gigatoken_array")
CACHE_HOSTILE_PROMPTS = 3
SPEEDS = ("first", "cold", "warm", "known", "hostile")
# For each kind of result, the engine whose ratios to its peers are shown, without the prefix cache; and the one for the
# same text a second time, with that cache, as users have it by default.
OURS = {"list": "lopt", "array": "lopt_array"}
OURS_AGAIN = {"list": "lopt_store", "array": "lopt_store_array"}
ABOUT = """\
{prompts} prompts of {prompt_chars:,} characters spread over each corpus, {threads} thread(s), MB/s, medians of
{repeat} repetitions in fresh processes. *First* is the first prompt of a process, *cold* the others, each seen
once, *warm* all of them again, *known* as many other prompts of the corpus after that, *hostile* words of random
letters; `first x` and `cold x` are ratios to the fastest peer. `lopt` has no prefix cache, `lopt_store` has the
default one."""


class Group:
    """A tokenizer and a corpus: the engines that are compared with one another, and the digests of the reference ids.

    The samples of a result are speeds in MB/s, 10^6 bytes of UTF-8 a second: `first`, the first prompt of the process;
    `cold`, the median of the others, each seen once; `warm`, of all when seen a second time; `known`, of new prompts
    after that, whose words were seen; `hostile`, of the cache-hostile prompts; and `load`, `import` in seconds, `rss`
    in MB.
    """

    def __init__(self, bench: Bench, tokenizer: str, corpus: str) -> None:
        """Cuts the prompts, and asks HF for the ids in a process of its own."""
        given, processes = bench.given, bench.processes
        both, self.remark = prompts(corpus, 2 * given.prompts, given.prompt_chars)
        texts, others = both[::2], both[1::2]
        hostile = [random_words(given.hostile_chars, seed) for seed in range(CACHE_HOSTILE_PROMPTS)]
        self.tokenizer = tokenizer
        self.corpus = corpus
        self.results = {name: Result(name, {"tokenizer": tokenizer, "corpus": corpus}) for name in given.engines}
        once, others_once, hostile_once = (processes.store_prompts(some) for some in (texts, others, hostile))
        self._sizes = [[len(text.encode()) / 1e6 for text in of_pass] for of_pass in (texts, texts, others, hostile)]
        passes = {"cold": once, "warm": once, "known": others_once, "hostile": hostile_once}
        tokenizer_file = processes.store_tokenizer(tokenizer_json(tokenizer))
        self._race = Race(processes, tokenizer_file, passes, bench.cpus, warm_up=False)

    def measure(self, engine: str) -> None:
        """One repetition of an engine that has not failed so far."""
        result = self.results[engine]
        measured = self._race.measure(result)
        if measured is not None:
            result.add(self._figures(measured))

    def _figures(self, measured: Measurement) -> dict[str, float]:
        cold, warm, known, hostile = (
            [size / taken for size, taken in zip(sizes, seconds, strict=True)]
            for sizes, seconds in zip(self._sizes, measured.seconds, strict=True)
        )
        peak = measured.peak_rss_bytes
        return {
            "first": cold[0],
            "cold": statistics.median(cold[1:]),
            "warm": statistics.median(warm),
            "known": statistics.median(known),
            "hostile": statistics.median(hostile),
            "load": measured.load_seconds,
            "import": measured.import_seconds,
            **({} if peak is None else {"rss": peak / 1e6}),
        }

    def ratio(self, name: str, speed: str) -> float | None:
        """Our engine's speed divided by that of the fastest peer of its kind in the same repetition; the median."""
        kind = engine_class(name).kind
        peers = [
            result.samples[speed]
            for other, result in self.results.items()
            if result.samples and engine_class(other).is_peer and engine_class(other).kind == kind
        ]
        own = self.results[name].samples.get(speed) if name in self.results else None
        if not own or not peers:
            return None
        return statistics.median(one / max(others) for one, *others in zip(own, *peers, strict=True))


def measure(bench: Bench) -> list[Result]:
    """All engines on all tokenizers and corpora."""
    given = bench.given
    groups = [Group(bench, tokenizer, corpus) for tokenizer in given.tokenizers for corpus in given.corpora]
    for repetition in range(given.repeat):
        for group in groups:
            progress(f"repetition {repetition + 1} of {given.repeat}: {group.tokenizer}, {group.corpus}")
            for engine in turned(given.engines, repetition):
                group.measure(engine)
    for tokenizer in given.tokenizers:
        _report(bench, tokenizer, [group for group in groups if group.tokenizer == tokenizer])
    return [result for group in groups for result in group.results.values()]


def _report(bench: Bench, tokenizer: str, groups: Sequence[Group]) -> None:
    """A table for each kind of result, a plot, and the losses of a tokenizer."""
    engines_of = {
        kind: [name for name in bench.given.engines if engine_class(name).kind == kind] for kind in ("list", "array")
    }
    for kind, engines in engines_of.items():
        if not engines:
            continue
        in_array = "" if kind == "list" else ", to an array"
        bench.report.tables.append(_table(tokenizer, kind, engines, groups))
        for speed in SPEEDS:
            figures = medians_by((group.results[e] for e in engines for group in groups), "corpus", speed)
            ours = OURS_AGAIN if speed == "warm" and OURS_AGAIN[kind] in engines else OURS
            bench.report.add_losses(figures, f"{tokenizer}, {{}}, {speed}{in_array}", ours[kind])
    if not engines_of["list"]:
        return
    cold = medians_by((group.results[e] for e in engines_of["list"] for group in groups), "corpus", "cold")
    corpora = [group.corpus for group in groups]
    series = {e: [figures.get(corpus, 0.0) for corpus in corpora] for e, figures in cold.items()}
    title = f"{tokenizer}: prompts that were not seen before, one thread"
    bench.report.plots.append(Plot(f"speed_{tokenizer}", title, "", "MB/s", series, groups=corpora))


def _table(tokenizer: str, kind: str, engines: Sequence[str], groups: Sequence[Group]) -> Table:
    # The first column of an engine has its name.
    columns = [f"{name}: {speed}" if speed == SPEEDS[0] else speed for name in engines for speed in SPEEDS]
    rows = []
    for group in groups:
        cells = [number(group.results[name].median(speed)) for name in engines for speed in SPEEDS]
        ratios = [number(group.ratio(OURS[kind], speed)) for speed in ("first", "cold")]
        rows.append([group.corpus, *cells, *ratios])
    lines = remarks(group.results[name] for group in groups for name in engines)
    lines += [f"{group.corpus}: {group.remark}" for group in groups if group.remark]
    title = f"{tokenizer}, MB/s" + ("" if kind == "list" else ", to a NumPy array")
    return Table(["corpus", *columns, "first x", "cold x"], rows, title, remarks=lines)


if __name__ == "__main__":
    made = Options(__doc__, repeat=5, threads=1, timeout=600.0)
    made.add_several("tokenizers", TOKENIZERS, ["tiny_qwen2"])
    made.add_several("corpora", CORPORA, ["zh"])
    made.add_engines(ENGINE_NAMES, ["hf", "lopt", "lopt_array"])
    made.add("--prompts", 10, "prompts of a corpus", 3)
    made.add("--prompt-chars", 200_000, "characters of a prompt", 3_000)
    made.add("--hostile-chars", 420_000, "of a cache-hostile prompt", 3_000)
    given = made.read()
    if given.prompts < 2 or given.repeat < 1:
        made.error("at least 2 prompts and 1 repetition")
    sys.exit(run(given, "speed", f"Speed of one prompt: {', '.join(given.tokenizers)}", ABOUT, measure))
