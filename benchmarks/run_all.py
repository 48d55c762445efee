"""Runs all benchmarks one after the other and writes RESULTS.md: what `make bench` does.

    python benchmarks/run_all.py [--only speed,peek2] [--quick]
    python benchmarks/run_all.py --write            RESULTS.md from the figures in --folder alone
    python benchmarks/run_all.py --readme           prints the table of docs/performance.md, from these too

About half an hour on two cores. Figures are kept in --folder, so that --only measures some again and
keeps the others: in figures/ beside RESULTS.md, which is committed with it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from benchmarks.common import results_page
from benchmarks.common.data import REPOSITORY, tokenizer_files
from benchmarks.common.script import known

HERE = Path(__file__).resolve().parent
QUICK_FOLDER = REPOSITORY / "build" / "benchmarks"


PEERS = "fastokens,gigatoken"
# Name: script and arguments.
ALL = {
    "speed": f"speed/speed.py --tokenizers qwen3,llama3,gpt_oss,deepseek_v3 --engines lopt,lopt_store,{PEERS}"
    " --prompt-chars 60000 --hostile-chars 60000 --repeat 2",
    "speed_long": f"speed/speed.py --engines lopt,lopt_store,{PEERS},lopt_array,lopt_store_array,gigatoken_array"
    " --hostile-chars 60000 --repeat 1",
    "speed_others": "speed/speed.py --tokenizers gpt_oss --corpora leval_en,zh"
    " --engines lopt,snaptokens,tokie,quicktok --prompt-chars 60000 --hostile-chars 60000 --repeat 1",
    "speed_sentencepiece": f"speed/speed.py --tokenizers llama2,gemma3 --engines lopt,{PEERS}"
    " --prompt-chars 60000 --hostile-chars 60000 --repeat 1",
    "speed_wordpiece": "speed/speed.py --tokenizers bert_base_uncased --engines hf,lopt"
    " --prompt-chars 60000 --hostile-chars 60000 --repeat 1",
    "speed_unigram": "speed/speed.py --tokenizers t5_small --engines hf,lopt"
    " --prompt-chars 60000 --hostile-chars 60000 --repeat 1",
    "threads": f"speed/threads.py --engines lopt,{PEERS} --repeat 5",
    "lopt_table": "papers/lopt_table.py --tokenizers qwen3,llama3,gpt_oss,bert_base_uncased --prompts 2"
    " --prompt-chars 350000",
    "lopt_figures": "papers/lopt_figures.py --texts 3 --repeat 1",
    "blockbpe": "papers/blockbpe.py",
    "counting": "speed/counting.py",
    "gputok": "papers/gputok.py",
    "peek2": "papers/peek2.py --prompts 8",
    "github_bpe": "papers/github_bpe.py",
    "worst_case": f"speed/worst_case.py --tokenizer gpt_oss --engines lopt,{PEERS},github_bpe"
    " --sizes 0.5,1 --repeat 1 --timeout 40",
    "growing": "papers/growing.py",
    "agent_session": "speed/agent_session.py --tokenizers qwen3 --repeat 1 --repeat-unseen 5",
    "decoding": "speed/decoding.py --chars 500000 --repeat 3",
    "load": "speed/load.py --repeat 3",
    "render": "engines/render.py",
    "conversations": "engines/conversations.py",
    "vllm_streams": "engines/vllm_streams.py",
}
# A benchmark is left out where the module of its engine is not installed.
ENGINES = dict.fromkeys(("render", "conversations", "vllm_streams"), "vllm")


def main() -> int:
    """Runs them; returns the exit status."""
    given = _arguments()
    folder = (given.folder or (QUICK_FOLDER if given.quick else HERE / "figures")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    load, start = os.getloadavg()[0], time.perf_counter()
    chosen = [] if given.write or given.readme else _chosen(given.only, given.quick)
    failed = [name for name in chosen if not _run(name, folder, given.quick)]
    minutes = (time.perf_counter() - start) / 60
    found = results_page.read([path for name in ALL if (path := folder / f"{name}.json").exists()])
    if given.readme:
        shown = [one for one in found if one["benchmark"] == "speed" and one["settings"]["prompt_chars"] == 60_000]
        rows = [row for content in shown for row in content["results"]]
        print(results_page.readme_table(rows).markdown())
    elif found:
        out = (folder if given.quick else HERE) if given.out is None else given.out
        small = "QUICK: small texts, to see that everything runs; the figures mean nothing. " if given.quick else ""
        whole = f"The run took {minutes:.0f} minutes; the load average before it was {load:.1f}."
        results_page.write(found, out, small + (whole if chosen and given.only is None else ""))
        print(f"{out / 'RESULTS.md'} after {minutes:.1f} minutes", file=sys.stderr)
    for name in failed:
        print(f"FAILED: {name}", file=sys.stderr)
    return 1 if failed or not found else 0


def _run(name: str, folder: Path, quick: bool) -> bool:
    """Whether it ended well; its figures of an earlier run are removed in any case."""
    path = folder / f"{name}.json"
    path.unlink(missing_ok=True)
    script, *arguments = ALL[name].split()
    start = time.perf_counter()
    print(f"\n=== {name}", file=sys.stderr, flush=True)
    command = [sys.executable, str(HERE / script), *(["--quick"] if quick else arguments), "--json", str(path)]
    ended = subprocess.run(command)
    print(f"=== {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return ended.returncode == 0


def _chosen(only: Sequence[str] | None, quick: bool) -> list[str]:
    found = [name for name in ALL if only is None or name in only]
    available = tokenizer_files().keys()
    missing = [name for name in found if not quick and not _tokenizers(name) <= available]
    for name in missing:
        print(f"{name}: left out, its tokenizers are not here", file=sys.stderr)
    absent = [name for name in found if name in ENGINES and importlib.util.find_spec(ENGINES[name]) is None]
    for name in absent:
        print(f"{name}: left out, {ENGINES[name]} is not installed", file=sys.stderr)
    return [name for name in found if name not in [*missing, *absent]]


def _tokenizers(name: str) -> set[str]:
    """Those without which a benchmark is left out."""
    asked = re.search(r"--tokenizers? (\S+)", ALL[name])
    return {"gpt4o"} if name == "growing" else set(asked[1].split(",")) if asked else set()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=known("benchmark", ALL), help=f"of {', '.join(ALL)}")
    parser.add_argument("--quick", action="store_true", help="each in its --quick form; RESULTS.md goes to --folder")
    parser.add_argument("--write", action="store_true", help="measure nothing, write RESULTS.md")
    parser.add_argument("--readme", action="store_true", help="measure nothing, print the table of docs/performance.md")
    parser.add_argument("--folder", type=Path, help="for the figures (default: figures/, or build/benchmarks if quick)")
    parser.add_argument("--out", type=Path, help="for RESULTS.md and plots/ (default: this folder)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
