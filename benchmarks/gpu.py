"""The GPU route: what it takes by stages and as a whole, against every CPU engine on all processors of the machine.

    python benchmarks/gpu.py                                   all tables, every tokenizer of the route
    python benchmarks/gpu.py --tokenizers qwen3 --megabytes 256
    python benchmarks/gpu.py --targets                         only what is asked of an H200, beside what is measured
    TRITON_INTERPRET=1 python benchmarks/gpu.py --quick        without a GPU: does it run to its end?
    TRITON_INTERPRET=1 python benchmarks/gpu.py --check        compares ids on small batches; measures nothing

All ids are compared with the HF tokenizer's before a figure is shown; a mismatch of ours ends the program. Times are
medians of --repeat runs behind two that do not count. Without a GPU no figure says anything about speed.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from corpora import prompts
from gpu_floors import device_of
from gpu_papers import table_of_block_bpe, table_of_gputok
from gpu_routes import MIXED, Routes, WrongIdsError
from gpu_stages import table_of_sizes, table_of_stages
from gpu_tables import table_of_crossover, table_of_prompts, table_of_ways
from gpu_targets import table_of_targets
from report import Report, Table, show, write_json
from script import add_output, known_corpus, names, numbers, parse

from lopt_plugin.benchmarking.machine import machine_line
from lopt_plugin.routes.device.availability import DeviceUnavailableError, find_device, interpreted

FAMILIES = "gpt2,qwen3,llama3,gpt_oss,gpt4o,deepseek_v3,mistral_tekken"
PEERS = "gigatoken_array,gigatoken,fastokens,tiktoken,toktier"


def main() -> int:
    """Runs the benchmark; returns the exit status."""
    given = _arguments()
    try:
        device = find_device()
    except DeviceUnavailableError as error:
        print(f"no GPU: {error}. Nothing was measured.")
        return 0
    try:
        if given.check:
            _check(given)
        else:
            _measure(given, device)
    except WrongIdsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _check(given: argparse.Namespace) -> None:
    for name in given.tokenizers:
        texts = [text for corpus in given.corpora if corpus != MIXED for text in prompts(corpus, 4, 250).texts]
        Routes(name, ()).compare(texts)
        print(f"{name}: equal to HF on {len(texts)} texts{' (Triton interpreter, no GPU)' if interpreted() else ''}")


def _measure(given: argparse.Namespace, device: Any) -> None:
    found = device_of(device)
    rate = "" if found.bandwidth is None else f", copies at {found.bandwidth / 1e9:,.0f} GB/s, read and written"
    print(f"{found.name}{rate}; {machine_line()}\n", flush=True)
    report = Report("The GPU route", __doc__ or "")

    def add(table: Table) -> None:
        report.tables.append(table)
        show(table, given.markdown)

    block = Routes(given.block_tokenizer, ())
    for name in given.tokenizers:
        routes = Routes(name, given.peers)
        add(table_of_targets(routes, block, given))
        if given.targets:
            continue
        for corpus in given.corpora:
            add(table_of_ways(routes, corpus, given))
            add(table_of_stages(routes, corpus, found, given))
        corpus = given.corpora[0]
        add(table_of_crossover(routes, corpus, given))
        add(table_of_prompts(routes, corpus, given))
        add(table_of_sizes(routes, found))
    if not given.targets:
        add(table_of_block_bpe(block, given))
        add(table_of_gputok(block, given))
    write_json(given.json, "gpu", vars(given), [vars(table) for table in report.tables], report)


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tokenizers", type=names, default=names(FAMILIES))
    corpora = [known_corpus("books_en"), known_corpus("code"), known_corpus("zh"), MIXED]
    made.add_argument("--corpora", type=names, default=corpora, help='known names; "mixed" is all of them')
    made.add_argument(
        "--peers", type=names, default=names(PEERS), help="engines for batches; those that are not here are left out"
    )
    made.add_argument("--megabytes", type=int, default=64, help="characters of a batch, 2**20")
    made.add_argument("--bytes", type=int, help="the same as a number of characters")
    made.add_argument("--repeat", type=int, default=7, help="timed runs (default %(default)s)")
    made.add_argument("--crossover", type=numbers, default=[1 << power for power in range(14, 25)], help="characters")
    made.add_argument("--prompt-bytes", type=numbers, default=[1 << 20, 4 << 20, 10 << 20], help="characters")
    made.add_argument("--block-tokenizer", default="gpt2", help="of BlockBPE's and GPUTOK's tables")
    made.add_argument("--block-batches", type=numbers, default=[64, 256, 1024])
    made.add_argument("--block-chars", type=numbers, default=[128, 512, 1024, 4096])
    made.add_argument("--gputok-tokens", type=numbers, default=[256, 1024, 4096, 16_384, 65_536, 131_072])
    made.add_argument("--targets", action="store_true", help="only what is asked of an H200")
    made.add_argument("--resident", type=int, default=64 << 20, help="characters of a batch on the device")
    made.add_argument("--target-bytes", type=int, default=256 << 20, help="characters of the targets' batch of strings")
    made.add_argument("--target-prompt", type=int, default=4 << 20, help="characters of the targets' prompt")
    made.add_argument("--check", action="store_true", help="only compare ids")
    add_output(made)
    quick = {
        "tokenizers": ["tiny_cl100k"],
        "corpora": [known_corpus("books_en"), MIXED],
        "bytes": 2000,
        "crossover": [1000],
        "prompt_bytes": [1500],
        "resident": 1500,
        "target_bytes": 1500,
        "target_prompt": 1500,
        "block_tokenizer": "tiny_cl100k",
        "block_batches": [2],
        "block_chars": [128],
        "gputok_tokens": [64],
    }
    given = parse(made, quick)
    given.bytes = given.megabytes << 20 if given.bytes is None else given.bytes
    return given


if __name__ == "__main__":
    sys.exit(main())
