"""A session that grows turn by turn, each turn the whole of it again: what tokenizing it costs in all.

    python benchmarks/agent_session.py --tokenizers qwen3,llama3 --turns 200 --chars 1000000
    python benchmarks/agent_session.py --tokenizers llama2 --corpus zh
    python benchmarks/agent_session.py --quick

Every engine gets the same turns in a fresh process, each as a string that was made of UTF-8 right before, as a server
makes it of what it received (not timed); all but those of lopt_store tokenize each one from its beginning. Those of
lopt_session are told what each turn adds (`Encoder.incremental`): all ids as a new list each turn; only those that may
be new, put into the list that the caller has; only how many there are.
The HF tokenizer, which would take longer than all others together, gets every 20th turn and the last one
(--hf-every), and its sum is extrapolated and named so. Ids of these turns are compared with HF's; those of all turns
with those of the engine `lopt`, which keeps nothing, or of the first engine. An engine whose ids differ has no
numbers, and the exit status is 1. The second table is what keeping costs where it does not help: prompts of which each
is another text.

--quick: one tokenizer, one repetition, 40 turns to 200,000 characters, 10 prompts; under a minute.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from corpora import corpus_files, prompts, whole_text
from report import Report, Table, others_win, show, write_json
from tokenizer_files import tokenizer_files, tokenizer_json

from lopt_plugin.benchmarking.engines import engine_class
from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.worker import Measurement

ENGINES = (
    *("lopt_store", "lopt", "fastokens", "gigatoken", "lopt_store_array", "lopt_array", "gigatoken_array"),
    *("lopt_session", "lopt_session_new", "lopt_session_count"),
)
Seconds = dict[str, list[list[float]]]
ABOUT = """
A session of 200 turns that grows to a million characters, each turn sent as a whole: the time that tokenizing it costs
in all. lopt_store finds by content what it has seen before, through the unchanged interface; lopt_session is told what
a turn adds (`Encoder.incremental`) and gives all ids as a new list, _new those that may be new, put into the caller's
list, _count their number; all others tokenize each turn from its beginning. One thread, a fresh process for each
engine. The second table is what the store costs where it does not help."""


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    cpus = choose_cpus(given.threads, given.cpu)
    print(f"{machine_line()}\n{given.threads} thread(s), CPU {', '.join(map(str, cpus))}\n", flush=True)
    results = []
    wrong = False
    report = Report("A session that grows turn by turn", ABOUT)
    with FreshProcesses(given.timeout) as processes:
        for tokenizer in given.tokenizers:
            text, remark = whole_text(given.corpus)
            chars = min(given.chars, len(text))
            turns = [text[: chars * (turn + 1) // given.turns] for turn in range(given.turns)]
            asked = sorted({*range(given.hf_every - 1, given.turns, given.hf_every), given.turns - 1})
            session = measure(processes, tokenizer, turns, given.engines, given.repeat, cpus, asked)
            source = f"{given.corpus} ({remark})" if remark else given.corpus
            title = f"{tokenizer}, {source}: {given.turns} turns up to {chars:,} characters"
            report.tables.append(session_table(title, *session, asked))
            show(report.tables[-1], given.markdown)
            report.others_win += others_win(
                {tokenizer: totals(session[0], "list")}, "lopt_store", smaller_is_better=True
            )
            unseen = prompts(given.corpus, given.unseen, 100_000).texts
            pairs = [name for name in ("lopt", "lopt_store", "lopt_array", "lopt_store_array") if name in given.engines]
            fresh = measure(processes, tokenizer, unseen, pairs, given.repeat_unseen, cpus, range(len(unseen)))
            report.tables.append(unseen_table(f"{tokenizer}: {len(unseen)} prompts that share nothing", fresh[0]))
            show(report.tables[-1], given.markdown)
            results.append({"tokenizer": tokenizer, "session": session, "unseen": fresh})
            wrong |= "ids differ" in {**session[1], **fresh[1]}.values()
    write_json(given.json, "agent_session", vars(given), results, report)
    return 1 if wrong else 0


def measure(
    processes: FreshProcesses,
    tokenizer: str,
    texts: Sequence[str],
    engines: Sequence[str],
    repeat: int,
    cpus: Sequence[int],
    asked: Sequence[int],
) -> tuple[Seconds, dict[str, str]]:
    """Seconds by engine, repetition and text, and why an engine has none.

    HF runs once, over the texts of the numbers `asked`; the others alternate, those that keep nothing first.
    """
    tokenizer_file = processes.store_tokenizer(tokenizer_json(tokenizer))
    received = [text.encode() for text in texts]
    oracle = processes.measure("hf", tokenizer_file, [processes.store_prompts([received[k] for k in asked])], cpus)
    if oracle.refused or oracle.failed:
        raise RuntimeError(f"no reference ids for {tokenizer}: {oracle.refused}{oracle.failed}")
    passes = [processes.store_prompts(received)]
    seconds: Seconds = {"hf": [list(oracle.seconds[0])]}
    problems: dict[str, str] = {}
    first_seen: Measurement | None = None
    engines = sorted(engines, key=lambda engine: (counts(engine), engine != "lopt"))
    for repetition in range(repeat):
        shift = repetition % max(1, len(engines))
        for engine in engines[shift:] + engines[:shift]:
            if engine in problems:
                continue
            print(f"{tokenizer}: {engine}, repetition {repetition + 1}", file=sys.stderr, flush=True)
            measured = processes.measure(engine, tokenizer_file, passes, cpus)
            if measured.refused or measured.failed:
                problems[engine] = measured.refused or measured.failed
            elif not same_ids(measured, first_seen := first_seen or measured, oracle, asked, counts(engine)):
                problems[engine] = "ids differ"
            else:
                seconds.setdefault(engine, []).append(list(measured.seconds[0]))
            if engine in problems:
                seconds.pop(engine, None)
    return seconds, problems


def counts(engine: str) -> bool:
    """Whether it says only how many ids there are."""
    return engine_class(engine).kind == "count"


def same_ids(
    seen: Measurement, first_seen: Measurement, oracle: Measurement, asked: Sequence[int], only_counts: bool
) -> bool:
    """Whether these ids, or their numbers, are HF's, of the texts that it was asked for, and those seen first."""
    (numbers,), (digests,) = seen.counts, seen.digests
    if numbers != first_seen.counts[0] or [numbers[number] for number in asked] != list(oracle.counts[0]):
        return False
    if only_counts:
        return True
    return digests == first_seen.digests[0] and [digests[number] for number in asked] == list(oracle.digests[0])


def totals(seconds: Seconds, kind: str) -> dict[str, float]:
    """Seconds of all turns, by engine; those of the store and of peers that end in this kind of ids."""
    return {
        engine: statistics.median(map(sum, rows))
        for engine, rows in seconds.items()
        if engine_class(engine).kind == kind and (engine_class(engine).is_peer or engine.startswith("lopt_store"))
    }


def session_table(title: str, seconds: Seconds, problems: dict[str, str], asked: Sequence[int]) -> Table:
    """All turns, the median and the last one; and how many times less that is than the fastest peer of the kind."""
    totals = {engine: statistics.median(map(sum, rows)) for engine, rows in seconds.items() if engine != "hf"}
    turns = max(asked) + 1
    # Time grows with the text: the sum over all turns is to that over some as their numbers add up.
    extrapolated = sum(seconds["hf"][0]) * (turns * (turns + 1) / 2) / sum(turn + 1 for turn in asked)
    hf = f"hf ({len(asked)} turns, extrapolated)"
    shown = [[hf, f"{1e3 * extrapolated:.1f}", "-", f"{1e6 * seconds['hf'][0][-1]:.0f}", "-"]]
    for engine, total in totals.items():
        kind = engine_class(engine).kind
        rivals = "list" if counts(engine) else kind
        peers = [
            totals[e] for e in totals if engine_class(e).is_peer and engine_class(e).kind == rivals and e != engine
        ]
        typical = [statistics.median(turn) for turn in zip(*seconds[engine], strict=True)]
        shown.append(
            [
                engine + (" (numpy array, no list)" if kind == "array" else ""),
                f"{1e3 * total:.1f}",
                f"{1e6 * statistics.median(typical):.0f}",
                f"{1e6 * statistics.median(typical[-5:]):.0f}",
                f"{min(peers) / total:.1f}" if peers else "-",
            ]
        )
    columns = ("engine", "all turns, ms", "median turn, us", "last turns, us", "times less than the best peer")
    return Table(columns, shown, title, remarks=[f"{engine}: {problem}" for engine, problem in problems.items()])


def unseen_table(title: str, seconds: Seconds) -> Table:
    """What the store adds to texts of which nothing is known."""
    shown = []
    for plain, store in (("lopt", "lopt_store"), ("lopt_array", "lopt_store_array")):
        if plain in seconds and store in seconds:
            # Of each prompt the fastest repetition, of many: what others do on the machine only adds, and it may slow
            # down most processes by half for minutes.
            fastest = {engine: sum(map(min, zip(*seconds[engine], strict=True))) for engine in (plain, store)}
            shown.append([store, f"{1e3 * fastest[plain]:.2f}", f"{100 * (fastest[store] / fastest[plain] - 1):+.1f}%"])
    return Table(("engine", "without the store, ms", "with it"), shown, title)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = tokenizer_files()
    default = ",".join(name for name in ("qwen3", "llama3") if name in known)
    parser.add_argument("--tokenizers", type=_names, default=_names(default), help=f"known: {', '.join(known)}")
    parser.add_argument("--corpus", default="chat" if "chat" in corpus_files() else next(iter(corpus_files())))
    parser.add_argument("--engines", type=_names, default=list(ENGINES))
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--chars", type=int, default=1_000_000, help="characters of the last turn (default 1000000)")
    parser.add_argument("--unseen", type=int, default=20, help="prompts that share nothing (default 20)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of the session, but HF's (default 3)")
    parser.add_argument("--repeat-unseen", type=int, default=15, help="repetitions of those (default 15)")
    parser.add_argument("--hf-every", type=int, default=20, help="HF gets every such turn (default 20)")
    parser.add_argument("--quick", action="store_true", help="one tokenizer, one repetition, fewer turns and prompts")
    parser.add_argument("--threads", type=int, default=1, help="threads and CPUs of an engine (default 1)")
    parser.add_argument("--cpu", type=int, help="the first CPU to use (default: the last ones)")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds for one process (default 1200)")
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--json", metavar="FILE", help="write every repetition's figures")
    given = parser.parse_args()
    if given.quick:
        given.tokenizers, given.repeat, given.unseen = given.tokenizers[:1], 1, min(given.unseen, 10)
        given.turns, given.chars, given.repeat_unseen = min(given.turns, 40), min(given.chars, 200_000), 3
    for name in given.tokenizers:
        if name not in known and not Path(name).is_file():
            parser.error(f"no tokenizer {name!r}; there are {', '.join(known)}, and paths")
    return given


def _names(value: str) -> list[str]:
    return list(dict.fromkeys(name for name in value.split(",") if name))


if __name__ == "__main__":
    sys.exit(main())
