"""Run by `make gpu-check` in a process of its own: seconds to a GPU route, to its first ids, and to the next ones.

TRITON_CACHE_DIR=FOLDER python benchmarks/gpu/start.py TOKENIZER
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))


def main() -> None:
    (name,) = sys.argv[1:]
    from tokenizers import Tokenizer

    from benchmarks.common.data import tokenizer_json
    from lopt_plugin.pipeline import read_pipeline
    from lopt_plugin.routes.gpu.route import GpuRoute
    from lopt_plugin.routes.native import NativeRoute
    from lopt_plugin.routes.request import PLAIN
    from lopt_plugin.settings import Settings

    pipeline = read_pipeline(Tokenizer.from_str(tokenizer_json(name)))
    native = NativeRoute(pipeline, Settings.read(prefix_cache_mb=0))
    texts = ["The quick brown fox, 1234 times, naïve 中文."] * 8
    times = [time.perf_counter()]
    route = GpuRoute(pipeline, native, check=False)
    times.append(time.perf_counter())
    for _ in range(2):
        route.encode_batch(texts, PLAIN[False][False])
        times.append(time.perf_counter())
    if route.failure:
        raise SystemExit(route.failure)
    print(*(f"{end - begin:.2f}" for begin, end in itertools.pairwise(times)))


if __name__ == "__main__":
    main()
