"""The total tokenization time of a session that grows turn by turn, with each turn sent as a whole.

    python benchmarks/speed/agent_session.py --tokenizers qwen3,llama3 --turns 200 --chars 1000000
    python benchmarks/speed/agent_session.py --tokenizers llama2 --corpus zh
    python benchmarks/speed/agent_session.py --quick

Each turn is a new string, made from UTF-8 right before the call (not timed), as a server makes it from a request. HF,
which would take longer than all others together, gets every 20th turn and the last one (--hf-every); its sum is
extrapolated and marked as such. The ids of these turns are compared with HF's; those of all turns with those of the
engine `lopt`, which keeps nothing, or of the first engine.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_corpus, prompts, tokenizer_json, whole_text
from benchmarks.common.engines import engine_class
from benchmarks.common.report import Table
from benchmarks.common.result import REFERENCE, Result, progress, reference, turned
from benchmarks.common.script import Bench, Options, run
from lopt_plugin.cli.benchmarking.worker import Measurement

ENGINES = (
    *("lopt_store", "lopt", "fastokens", "gigatoken", "lopt_store_array", "lopt_array", "gigatoken_array"),
    *("lopt_session", "lopt_session_new", "lopt_session_count"),
)
ABOUT = """
A session of 200 turns that grows to a million characters, each turn sent as a whole: the time that tokenizing it costs
in all. lopt_store finds by content what it has seen before, through the unchanged interface; the lopt_session engines
are given what a turn adds (`Encoder.incremental`): lopt_session builds all ids as a new list, _new puts those that may
be new into the caller's list, _count counts them; all others tokenize each turn from its beginning. One thread, a fresh
process for each engine. The second table is what the store costs where it does not help."""


def measure(bench: Bench) -> list[Result]:
    """A session, and prompts that share nothing, of each tokenizer."""
    given = bench.given
    text, remark = whole_text(given.corpus)
    chars = min(given.chars, len(text))
    turns = [text[: chars * (turn + 1) // given.turns] for turn in range(given.turns)]
    asked = sorted({*range(given.hf_every - 1, given.turns, given.hf_every), given.turns - 1})
    source = f"{given.corpus} ({remark})" if remark else given.corpus
    unseen = prompts(given.corpus, given.unseen, 100_000)[0]
    pairs = [name for name in ("lopt", "lopt_store", "lopt_array", "lopt_store_array") if name in given.engines]
    results: list[Result] = []
    for tokenizer in given.tokenizers:
        session = _seconds(bench, tokenizer, turns, given.engines, given.repeat, asked)
        title = f"{tokenizer}, {source}: {given.turns} turns up to {chars:,} characters"
        bench.add(session_table(title, session, asked))
        rivals = [one for one in session if _kind(one) == "list" and (_is_peer(one) or one.engine == "lopt_store")]
        totals = {one.engine: {tokenizer: _total(one)} for one in rivals if one.samples}
        bench.report.add_losses(totals, "{}", "lopt_store", smaller_is_better=True)
        fresh = _seconds(bench, tokenizer, unseen, pairs, given.repeat_unseen, range(len(unseen)))
        bench.add(unseen_table(f"{tokenizer}: {len(unseen)} prompts that share nothing", fresh))
        results += session + fresh
    return results


def _seconds(
    bench: Bench, tokenizer: str, texts: Sequence[str], engines: Sequence[str], repeat: int, asked: Collection[int]
) -> list[Result]:
    """Results whose samples are seconds: by the number of the text, one for each repetition.

    HF comes first; it runs once, over the texts of the numbers `asked`. The others alternate, `lopt` first.
    """
    processes, cpus = bench.processes, bench.cpus
    tokenizer_file = processes.store_tokenizer(tokenizer_json(tokenizer))
    received = [text.encode() for text in texts]
    oracle = reference(processes, tokenizer_file, [processes.store_prompts([received[k] for k in asked])], cpus)
    passes = [processes.store_prompts(received)]
    case = {"tokenizer": tokenizer, "texts": len(texts)}
    hf = Result(REFERENCE, case)
    hf.add({str(number): seconds for number, seconds in zip(asked, oracle.seconds[0], strict=True)})
    results = {name: Result(name, case) for name in engines}
    first_seen: Measurement | None = None
    ordered = sorted(engines, key=lambda name: (engine_class(name).kind == "count", name != "lopt"))
    for repetition in range(repeat):
        for result in (results[name] for name in turned(ordered, repetition)):
            if result.problem:
                continue
            progress(f"{tokenizer}: {result.engine}, repetition {repetition + 1}")
            measured = processes.measure(result.engine, tokenizer_file, passes, cpus)
            # What its ids must be depends on the engine, and is checked below.
            if result.accepts(measured, measured.digests):
                first_seen = first_seen or measured
                if _same_ids(measured, first_seen, oracle, asked, only_counts=_kind(result) == "count"):
                    result.add({str(number): seconds for number, seconds in enumerate(measured.seconds[0])})
                else:
                    result.problem, result.is_error = "ids differ", True
                    result.samples.clear()
    return [hf, *(results[name] for name in ordered)]


def _same_ids(
    seen: Measurement, first_seen: Measurement, oracle: Measurement, asked: Collection[int], only_counts: bool
) -> bool:
    """Whether these ids, or their numbers, are HF's for the texts that it was asked for, and those seen first."""
    (numbers,), (digests,) = seen.counts, seen.digests
    if numbers != first_seen.counts[0] or [numbers[number] for number in asked] != list(oracle.counts[0]):
        return False
    if only_counts:
        return True
    return digests == first_seen.digests[0] and [digests[number] for number in asked] == list(oracle.digests[0])


def _kind(result: Result) -> str:
    return engine_class(result.engine).kind


def _is_peer(result: Result) -> bool:
    return engine_class(result.engine).is_peer


def _total(result: Result) -> float:
    """Seconds of all turns together: the median over the repetitions."""
    return statistics.median(map(sum, zip(*result.samples.values(), strict=True)))


def session_table(title: str, results: Sequence[Result], asked: Collection[int]) -> Table:
    """All turns, the median and the last ones; and how many times less that is than the fastest peer of the kind."""
    hf, *others = results
    turns = max(asked) + 1
    # Time is proportional to the text's length: the sum over all turns relates to that over some as their numbers do.
    extrapolated = _total(hf) * (turns * (turns + 1) / 2) / sum(turn + 1 for turn in asked)
    name = f"hf ({len(asked)} turns, extrapolated)"
    rows = [[name, f"{1e3 * extrapolated:.1f}", "-", f"{1e6 * hf.samples[str(turns - 1)][0]:.0f}", "-"]]
    with_numbers = [result for result in others if result.samples]
    for result in with_numbers:
        kind, total = _kind(result), _total(result)
        rivals = "list" if kind == "count" else kind
        peers = [_total(o) for o in with_numbers if _is_peer(o) and _kind(o) == rivals and o is not result]
        typical = [statistics.median(turn) for turn in result.samples.values()]
        rows.append(
            [
                result.engine + (" (numpy array, no list)" if kind == "array" else ""),
                f"{1e3 * total:.1f}",
                f"{1e6 * statistics.median(typical):.0f}",
                f"{1e6 * statistics.median(typical[-5:]):.0f}",
                f"{min(peers) / total:.1f}" if peers else "-",
            ]
        )
    columns = ("engine", "all turns, ms", "median turn, us", "last turns, us", "times less than the best peer")
    return Table(columns, rows, title, remarks=[f"{one.engine}: {one.problem}" for one in others if one.problem])


def unseen_table(title: str, results: Sequence[Result]) -> Table:
    """What the store adds to texts of which nothing is known."""
    # The fastest of many repetitions for each prompt: other work on the machine only adds time, and may slow down most
    # processes by half for minutes.
    fastest = {one.engine: sum(map(min, one.samples.values())) for one in results if one.samples}
    rows = [
        [store, f"{1e3 * fastest[plain]:.2f}", f"{100 * (fastest[store] / fastest[plain] - 1):+.1f}%"]
        for plain, store in (("lopt", "lopt_store"), ("lopt_array", "lopt_store_array"))
        if plain in fastest and store in fastest
    ]
    return Table(("engine", "without the store, ms", "with it"), rows, title)


if __name__ == "__main__":
    made = Options(__doc__, repeat=3, threads=1, timeout=1200.0)
    made.add_several("tokenizers", ("qwen3", "llama3"), ["qwen3"])
    made.add("--corpus", known_corpus("chat"), "name or path")
    made.add_engines(ENGINES)
    made.add("--turns", 200, "turns of a session", 40)
    made.add("--chars", 1_000_000, "characters of the last turn", 200_000)
    made.add("--unseen", 20, "prompts that share nothing", 10)
    made.add("--repeat-unseen", 15, "repetitions of those", 3)
    made.add("--hf-every", 20, "HF gets every such turn")
    sys.exit(run(made.read(), "agent_session", "A session that grows turn by turn", ABOUT, measure))
