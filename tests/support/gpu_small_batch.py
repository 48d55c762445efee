"""Run by test_gpu_sanitizer under compute-sanitizer, twice with a cache: every kernel over texts that reach all of it.

python gpu_small_batch.py
"""

from __future__ import annotations

import corpus
from tokenizers import Tokenizer

from lopt_plugin.encoder.token_batch import TokenBatch
from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.gpu.route import GpuRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.settings import Settings

# One tokenizer for each machine of the split patterns.
NAMES = ("roberta_base", "qwen3", "tiny_o200k", "tiny_deepseek_v3")


def main() -> None:
    for name in NAMES:
        reference = corpus.load_tokenizer(name)
        pipeline = read_pipeline(reference)
        assert isinstance(pipeline, Pipeline)
        route = GpuRoute(pipeline, NativeRoute(pipeline, Settings.read({})), check=False, cache_slots=256)
        for texts in (_texts(reference, 0), _texts(reference, 40), _texts(reference, 0)):
            batch = TokenBatch(*route.encode_on_device(texts, PLAIN[True][False]))
            expected = [encoding.ids for encoding in reference.encode_batch(texts)]
            assert [batch.row(row).tolist() for row in range(len(batch))] == expected, name
            table = batch.padded(0, multiple=8).input_ids.tolist()
            assert [row[: len(ids)] for row, ids in zip(table, expected, strict=True)] == expected, name
        assert route.failure is None
        assert route.texts_on_device > route.texts_on_host
    print(f"the ids of the reference, {len(NAMES)} tokenizers, on {route.device}")


def _texts(reference: Tokenizer, skip: int) -> list[str]:
    """Documents, words for each path of the merges, and an added token."""
    names = ("books_en", "code", "multi", "zh")
    documents = [text[skip : skip + 1500] for name in names for text in corpus.texts(name, 3000)]
    token = next(iter(reference.get_added_tokens_decoder().values())).content
    words = ["q" * length for length in (15, 31, 63, 65, 700)] + ["中文" * 300, "=" * 129, "xyz" * 20]
    return [*documents, *words, "", " " * 70 + "x", f"a{token}b {token}"]


if __name__ == "__main__":
    main()
