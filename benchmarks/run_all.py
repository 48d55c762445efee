"""Runs all benchmarks one after the other and writes RESULTS.md: what `make bench` does.

    python benchmarks/run_all.py [--only speed,peek2] [--quick]

Under half an hour on two cores. Figures are kept in --folder, so that --only measures some anew and the others stay.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import results
from script import names
from tokenizer_files import REPOSITORY, tokenizer_files

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Benchmark:
    """`tokenizers` limits it to where all of these are."""

    name: str
    script: str
    arguments: str = ""
    tokenizers: str = ""


PEERS = "fastokens,gigatoken"
ALL = (
    Benchmark(
        "speed",
        "speed.py",
        f"--engines lopt,{PEERS},lopt_array,gigatoken_array --repeat 3",
    ),
    Benchmark(
        "speed_sentencepiece",
        "speed.py",
        f"--tokenizers llama2,gemma3 --engines lopt,{PEERS} --repeat 2",
        tokenizers="llama2,gemma3",
    ),
    Benchmark(
        "speed_wordpiece",
        "speed.py",
        "--tokenizers bert_base_uncased --engines hf,lopt --repeat 1",
        tokenizers="bert_base_uncased",
    ),
    Benchmark("threads", "threads.py", f"--engines lopt,{PEERS} --repeat 3"),
    Benchmark("lopt_table", "lopt_table.py", "--prompts 3"),
    Benchmark("lopt_figures", "lopt_figures.py"),
    Benchmark("blockbpe", "blockbpe.py"),
    Benchmark("gputok", "gputok.py"),
    Benchmark("peek2", "peek2.py"),
    Benchmark("github_bpe", "github_bpe.py"),
    Benchmark(
        "worst_case",
        "worst_case.py",
        f"--tokenizer gpt_oss --engines lopt,{PEERS},github_bpe,tiktoken --sizes 0.25,0.5,1 --repeat 1 --timeout 40",
        tokenizers="gpt_oss",
    ),
    Benchmark("growing", "growing.py", tokenizers="gpt4o"),
    Benchmark("agent_session", "agent_session.py", "--tokenizers qwen3 --repeat 2", tokenizers="qwen3"),
    Benchmark("load", "load.py", "--repeat 3"),
)


def main() -> int:
    """Runs them; returns the exit status."""
    given = _arguments()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    load, start = os.getloadavg()[0], time.perf_counter()
    chosen = _chosen(given.only, given.quick)
    failed = [benchmark.name for benchmark in chosen if not _run(benchmark, folder, given.quick)]
    minutes = (time.perf_counter() - start) / 60
    found = results.read([path for one in ALL if (path := folder / f"{one.name}.json").exists()])
    if found:
        out = (folder if given.quick else HERE) if given.out is None else given.out
        small = "QUICK: small texts, to see that everything runs; the figures mean nothing. " if given.quick else ""
        whole = f"The run took {minutes:.0f} minutes; the load average before it was {load:.1f}."
        results.write(found, out, small + (whole if given.only is None else ""))
        print(f"{out / 'RESULTS.md'} after {minutes:.1f} minutes", file=sys.stderr)
    for name in failed:
        print(f"FAILED: {name}", file=sys.stderr)
    return 1 if failed or not found else 0


def _run(benchmark: Benchmark, folder: Path, quick: bool) -> bool:
    """Whether it ended well; its figures of another run are gone in any case."""
    path = folder / f"{benchmark.name}.json"
    path.unlink(missing_ok=True)
    arguments = ["--quick"] if quick else benchmark.arguments.split()
    start = time.perf_counter()
    print(f"\n=== {benchmark.name}", file=sys.stderr, flush=True)
    ended = subprocess.run([sys.executable, str(HERE / benchmark.script), *arguments, "--json", str(path)])
    print(f"=== {benchmark.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return ended.returncode == 0


def _chosen(only: Sequence[str] | None, quick: bool) -> list[Benchmark]:
    there = tokenizer_files()
    found = [one for one in ALL if only is None or one.name in only]
    if quick:
        return found
    missing = [one.name for one in found if not set(one.tokenizers.split(",")) <= {*there, ""}]
    for name in missing:
        print(f"{name}: left out, its tokenizers are not here", file=sys.stderr)
    return [one for one in found if one.name not in missing]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [one.name for one in ALL]
    parser.add_argument("--only", type=names, help=f"of {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="each in its --quick form; RESULTS.md goes to --folder")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "benchmarks", help="for the figures")
    parser.add_argument("--out", type=Path, help="for RESULTS.md and plots/ (default: beside the scripts)")
    given = parser.parse_args()
    for name in given.only or ():
        if name not in known:
            parser.error(f"no benchmark {name!r}; there are {', '.join(known)}")
    return given


if __name__ == "__main__":
    sys.exit(main())
