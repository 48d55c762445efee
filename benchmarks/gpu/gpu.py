"""The GPU route: what it takes by stages and as a whole, against every CPU engine on all processors of the machine.

    python benchmarks/gpu/gpu.py                                  all tables, every tokenizer of the route
    python benchmarks/gpu/gpu.py --tokenizers qwen3 --megabytes 256
    TRITON_INTERPRET=1 python benchmarks/gpu/gpu.py --quick        without a GPU: does it run to its end?

All ids are compared with the HF tokenizer's before a figure is shown; a mismatch of ours ends the program. Times are
medians of --repeat runs, after two that do not count. Without a GPU no figure says anything about speed.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import known_corpus, known_tokenizer, tokenizer_files
from benchmarks.common.result import Result
from benchmarks.common.script import Bench, Options, run
from benchmarks.gpu import route_tables
from benchmarks.gpu.routes import MIXED, Routes, WrongIdsError
from benchmarks.gpu.stages import device_of, table_of_sizes, table_of_stages
from lopt_plugin.routes.gpu.device import GpuUnavailableError, find_device

FAMILIES = ("gpt2", "qwen3", "llama3", "gpt_oss", "gpt4o", "deepseek_v3", "mistral_tekken")
PEERS = ("gigatoken_array", "gigatoken", "fastokens", "tiktoken", "toktier")


def measure(bench: Bench) -> list[Result]:
    """All tables; the figures are in them alone."""
    given = bench.given
    device = device_of(find_device())
    rate = "" if device.bandwidth is None else f", copies at {device.bandwidth / 1e9:,.0f} GB/s, read and written"
    print(f"{device.name}{rate}\n", flush=True)
    block = Routes(given.block_tokenizer, ["tiktoken"])
    for name in given.tokenizers:
        routes = Routes(name, given.peers)
        bench.add(route_tables.table_of_targets(routes, block, given))
        for corpus in given.corpora:
            bench.add(route_tables.table_of_methods(routes, corpus, given))
            bench.add(table_of_stages(routes, corpus, device, given))
        corpus = given.corpora[0]
        bench.add(route_tables.table_of_crossover(routes, MIXED, given))
        bench.add(route_tables.table_of_prompts(routes, corpus, given))
        bench.add(table_of_sizes(routes, device))
    return []


def main() -> int:
    made = Options(__doc__)
    english = known_corpus("books_en")
    made.add("--tokenizers", [name for name in FAMILIES if name in tokenizer_files()], "names", ["tiny_cl100k"])
    corpora = [english, known_corpus("code"), known_corpus("zh"), MIXED]
    made.add("--corpora", corpora, 'known names; "mixed" is all of them', [english, MIXED])
    made.add("--peers", list(PEERS), "engines for batches; those that are not here are left out")
    made.add("--megabytes", 64.0, "characters of a batch, 2**20", 0.002)
    made.add("--repeat", 7, "timed runs", 1)
    made.add("--crossover", [1 << power for power in range(14, 25)], "characters", [1000])
    made.add("--prompt-bytes", [1 << 20, 4 << 20, 10 << 20], "characters", [1500])
    made.add("--block-tokenizer", known_tokenizer("gpt2"), "of BlockBPE's target", "tiny_cl100k")
    made.add("--block-batches", [64, 256, 1024], "texts in a call", [2])
    made.add("--block-chars", [128, 512, 1024, 4096], "characters of a text", [128])
    made.add("--resident", 64 << 20, "characters of a batch on the device", 1500)
    made.add("--target-bytes", 256 << 20, "characters of the targets' batch of strings", 1500)
    made.add("--target-prompt", 4 << 20, "characters of the targets' prompt", 1500)
    given = made.read()
    given.bytes = round(given.megabytes * (1 << 20))
    try:
        find_device()
        return run(given, "gpu", "The GPU route", __doc__, measure)
    except GpuUnavailableError as error:
        print(f"no GPU: {error}. Nothing was measured.")
        return 0
    except WrongIdsError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
