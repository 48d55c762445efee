"""One long text at a time, in the form of GPUTOK's table 1: milliseconds by the number of tokens.

    python benchmarks/gputok.py --tokenizer gpt2 --tokens 1024,131072

The CPU engines are always measured; lopt_gpu is where there is a GPU. GPUTOK gives the ids of its own greedy merging,
not those of the tokenizer, so it could have no number here.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from corpora import whole_text
from measuring import Race, all_remarks
from report import Plot, Report, Table, number, others_win
from script import end, errors, known_corpus, known_tokenizer, names, numbers, parse, parser
from tokenizer_files import tokenizer_json
from tokenizers import Tokenizer

from lopt_plugin.benchmarking.fresh_process import FreshProcesses, choose_cpus
from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.benchmarking.prompts import spread

ENGINES = ("hf", "tiktoken", "fastokens", "gigatoken", "lopt", "lopt_gpu")
SAMPLE_CHARS = 100_000
ABOUT = """\
One text to its ids, {threads} threads, {tokenizer}, {corpus}; each text is seen once. GPUTOK's own ids are
those of a greedy merge, not the tokenizer's: it could have no number here. `lopt_gpu` is measured where there
is a GPU."""


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    print(f"{machine_line()}\n", flush=True)
    text = whole_text(given.corpus)[0]
    chars_a_token = _chars_a_token(given.tokenizer, text)
    groups = {}
    for tokens in given.tokens:
        chars = min(round(tokens * chars_a_token), len(text))
        groups[tokens] = spread(text, max(1, min(given.texts, len(text) // chars)), chars)
    with FreshProcesses(given.timeout) as processes:
        tokenizer = processes.store_tokenizer(tokenizer_json(given.tokenizer))
        cpus = choose_cpus(given.threads, given.cpu)
        by = {}
        for tokens, texts in groups.items():
            # A race for each: longer texts hold what shorter ones held, and would find it in caches.
            race = Race(processes, tokenizer, {"text": processes.store_prompts(texts)}, cpus)
            by[tokens] = race.run(given.engines, given.repeat)
    seconds = {name: {n: s for n in groups if (s := by[n][name].median("text")) is not None} for name in given.engines}
    rows = [[name, *(number(1e3 * own[n] if n in own else None) for n in groups)] for name, own in seconds.items()]
    title = f"One text, ms, at about {chars_a_token:.2f} characters a token"
    lines = all_remarks(by.values())
    report = Report("GPUTOK: one text by its tokens", ABOUT.format(**vars(given)))
    report.tables.append(Table(["tokens", *(f"{n:,}" for n in groups)], rows, title, remarks=lines))
    report.plots.append(
        Plot(
            "gputok",
            f"One unseen text, {given.tokenizer}, {given.threads} threads",
            "tokens",
            "ms",
            {name: [(n, 1e3 * s) for n, s in own.items()] for name, own in seconds.items()},
            log_x=True,
            log_y=True,
        )
    )
    places = {f"a text of {n:,} tokens": {e: own[n] for e, own in seconds.items() if n in own} for n in groups}
    report.others_win += others_win(places, smaller_is_better=True)
    results = {n: [asdict(figures) for figures in found.values()] for n, found in by.items()}
    failed = any(errors(list(found.values())) for found in by.values())
    return end(given, "gputok", results, report, failed)


def _chars_a_token(name: str, text: str) -> float:
    sample = text[:SAMPLE_CHARS]
    return len(sample) / len(Tokenizer.from_str(tokenizer_json(name)).encode(sample, add_special_tokens=False).ids)


def _arguments() -> argparse.Namespace:
    made = parser(__doc__, repeat=2)
    made.add_argument("--tokenizer", default=known_tokenizer("gpt2"), help="name or path (default %(default)s)")
    made.add_argument("--corpus", default=known_corpus("leval_en"), help="name or path (default %(default)s)")
    made.add_argument("--engines", type=names, default=list(ENGINES), help="known names, or module:Class")
    made.add_argument("--tokens", type=numbers, default=[1024, 4096, 16384, 65536, 131072], help="of a text, about")
    made.add_argument("--texts", type=int, default=10, help="of each length (default %(default)s)")
    quick = {
        "tokenizer": "tiny_cl100k",
        "corpus": "books_en",
        "engines": ["hf", "lopt", "lopt_gpu"],
        "tokens": [256, 4096],
        "texts": 2,
    }
    return parse(made, quick)


if __name__ == "__main__":
    sys.exit(main())
