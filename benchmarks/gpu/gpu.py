"""The GPU route: what it takes by stages and as a whole, against every CPU engine on all processors of the machine.

    python benchmarks/gpu/gpu.py                                  all tables, every tokenizer of the route
    python benchmarks/gpu/gpu.py --tokenizers qwen3 --megabytes 256
    python benchmarks/gpu/gpu.py --targets                        only the targets, beside what is measured
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
from benchmarks.common.script import Bench, names, numbers, parse, plain_parser, run
from benchmarks.gpu.route_tables import (
    table_of_crossover,
    table_of_methods,
    table_of_prompts,
    table_of_targets,
)
from benchmarks.gpu.routes import MIXED, Routes, WrongIdsError
from benchmarks.gpu.stages import device_of, table_of_sizes, table_of_stages
from lopt_plugin.routes.gpu.device import GpuUnavailableError, find_device

FAMILIES = "gpt2,qwen3,llama3,gpt_oss,gpt4o,deepseek_v3,mistral_tekken"
PEERS = "gigatoken_array,gigatoken,fastokens,tiktoken,toktier"


def measure(bench: Bench) -> list[Result]:
    """All tables; the figures are in them alone."""
    given = bench.given
    device = device_of(find_device())
    rate = "" if device.bandwidth is None else f", copies at {device.bandwidth / 1e9:,.0f} GB/s, read and written"
    print(f"{device.name}{rate}\n", flush=True)
    block = Routes(given.block_tokenizer, ["tiktoken"])
    for name in given.tokenizers:
        routes = Routes(name, given.peers)
        bench.add(table_of_targets(routes, block, given))
        if given.targets:
            continue
        for corpus in given.corpora:
            bench.add(table_of_methods(routes, corpus, given))
            bench.add(table_of_stages(routes, corpus, device, given))
        corpus = given.corpora[0]
        bench.add(table_of_crossover(routes, MIXED, given))
        bench.add(table_of_prompts(routes, corpus, given))
        bench.add(table_of_sizes(routes, device))
    return []


def main() -> int:
    made = plain_parser(__doc__)
    here = [name for name in names(FAMILIES) if name in tokenizer_files()]
    made.add_argument("--tokenizers", type=names, default=here)
    corpora = [known_corpus("books_en"), known_corpus("code"), known_corpus("zh"), MIXED]
    made.add_argument("--corpora", type=names, default=corpora, help='known names; "mixed" is all of them')
    made.add_argument(
        "--peers", type=names, default=names(PEERS), help="engines for batches; those that are not here are left out"
    )
    made.add_argument("--megabytes", type=float, default=64, help="characters of a batch, 2**20")
    made.add_argument("--repeat", type=int, default=7, help="timed runs (default %(default)s)")
    made.add_argument("--crossover", type=numbers, default=[1 << power for power in range(14, 25)], help="characters")
    made.add_argument("--prompt-bytes", type=numbers, default=[1 << 20, 4 << 20, 10 << 20], help="characters")
    made.add_argument("--block-tokenizer", default=known_tokenizer("gpt2"), help="of BlockBPE's target")
    made.add_argument("--block-batches", type=numbers, default=[64, 256, 1024])
    made.add_argument("--block-chars", type=numbers, default=[128, 512, 1024, 4096])
    made.add_argument("--targets", action="store_true", help="only what is asked of an H100 or H200")
    made.add_argument("--resident", type=int, default=64 << 20, help="characters of a batch on the device")
    made.add_argument("--target-bytes", type=int, default=256 << 20, help="characters of the targets' batch of strings")
    made.add_argument("--target-prompt", type=int, default=4 << 20, help="characters of the targets' prompt")
    quick = {
        **{"tokenizers": ["tiny_cl100k"], "corpora": [known_corpus("books_en"), MIXED], "megabytes": 0.002},
        **{"crossover": [1000], "prompt_bytes": [1500]},
        **{"resident": 1500, "target_bytes": 1500, "target_prompt": 1500},
        **{"block_tokenizer": "tiny_cl100k", "block_batches": [2], "block_chars": [128]},
    }
    given = parse(made, quick)
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
