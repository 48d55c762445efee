"""The merge rule and its kernels against Hugging Face: tables that no training gives, and those of tokenizers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import corpus
import native_cores
import numpy as np
import pytest
from kernel_device import DEVICE, make_interpreter_faster, to_device, torch
from random_models import STAND_INS, Model, random_model, random_words

from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.gpu.tables import host_tables
from lopt_plugin.triton_kernels.merge import kernel, naive
from lopt_plugin.triton_kernels.merge.table import NO_MERGE, PairTable


@pytest.fixture(autouse=True)
def _fast_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)


def triples(model: Model) -> list[tuple[int, int, int]]:
    ids = model.vocabulary
    return [(ids[left], ids[right], ids[left + right]) for left, right in model.merges]


def table_of(model: Model) -> PairTable:
    return PairTable.of(triples(model), np.array([model.vocabulary[c] for c in STAND_INS], dtype=np.int32))


def models_and_words(seed: int, models: int, words: int, longest: int) -> Iterator[tuple[Model, list[bytes]]]:
    rng = random.Random(seed)
    for _ in range(models):
        model = random_model(rng)
        made = [word.encode() for word in random_words(rng, model, 3 * words)]
        yield model, [word for word in made if len(word) <= longest][:words]


def expected(model: Model, words: list[bytes]) -> list[list[int]]:
    return [encoding.ids for encoding in model.reference().encode_batch_fast([word.decode() for word in words])]


def merged_by(merge: Any, table: PairTable, words: list[bytes], **options: Any) -> list[list[int]]:
    """Ids of the words, which lie in a text in their order; every second one is left out and stays as it was."""
    starts = np.cumsum([0, *(len(word) for word in words for _ in range(2))]).astype(np.int32)
    text = np.frombuffer(b"".join(word * 2 for word in words), dtype=np.uint8)
    chosen = np.arange(0, 2 * len(words), 2, dtype=np.int32)[::-1].copy()
    merged = torch.full((len(text),), -7, dtype=torch.int32, device=DEVICE)
    counts = torch.full((2 * len(words),), -7, dtype=torch.int32, device=DEVICE)
    pairs, byte_ids = to_device(table.slots), to_device(table.byte_ids)
    merge(to_device(text), to_device(starts), to_device(chosen), pairs, byte_ids, merged, counts, **options)
    ids, numbers = merged.cpu().numpy(), counts.cpu().numpy()
    assert (numbers[1::2] == -7).all()
    result = []
    for word in range(0, 2 * len(words), 2):
        assert (ids[starts[word] + numbers[word] : starts[word + 2]] == -7).all()
        result.append(ids[starts[word] : starts[word] + numbers[word]].tolist())
    return result


def test_rule_gives_what_bpe_gives_for_any_table() -> None:
    for model, words in models_and_words(seed=1, models=60, words=15, longest=70):
        table = table_of(model)
        entries = naive.entries_of(table)
        for word, ids in zip(words, expected(model, words), strict=True):
            assert naive.merge([int(table.byte_ids[byte]) for byte in word], entries)[0] == ids, word


def test_local_minima_alone_would_be_wrong() -> None:
    """The counterexample of notes/gpu.md: (k, l), (kl, a), (a, b) and "klab"."""
    k, l, a, b, kl, kla, ab = range(7)  # noqa: E741
    byte_ids = np.zeros(256, np.int32)
    table = PairTable.of([(k, l, kl), (kl, a, kla), (a, b, ab)], byte_ids)
    assert naive.merge([k, l, a, b], naive.entries_of(table)) == ([kla, b], 2)


def test_shields_and_gates_are_those_of_their_definition() -> None:
    for model, _ in models_and_words(seed=2, models=30, words=0, longest=0):
        merges = triples(model)
        rank = {(left, right): number for number, (left, right, _) in enumerate(merges)}
        result = {(left, right): made for left, right, made in merges}
        makers: dict[int, list[tuple[int, int]]] = {}
        for (left, right), made in result.items():
            makers.setdefault(made, []).append((left, right))

        def spine(token: int, side: int, makers: Any = makers) -> set[int]:
            return {token}.union(*(spine(pair[side], side) for pair in makers.get(token, [])))

        shields: dict[tuple[int, int], list[int]] = {pair: [NO_MERGE, NO_MERGE] for pair in rank}
        for (left, right), number in rank.items():
            for token in spine(left, 1):
                both = shields.setdefault((token, right), [NO_MERGE, NO_MERGE])
                both[0] = min(both[0], number)
            for token in spine(right, 0):
                both = shields.setdefault((left, token), [NO_MERGE, NO_MERGE])
                both[1] = min(both[1], number)
        found = naive.entries_of(table_of(model))
        assert {pair: [left, right] for pair, (*_, left, right) in found.items()} == shields
        for pair, (number, made, gate, _, _) in found.items():
            assert number == rank.get(pair, NO_MERGE)
            if pair in rank:
                assert made == result[pair]
                assert gate == all(other > number for parts, other in rank.items() if made in parts)


@pytest.mark.parametrize(("row", "tile"), [(16, 16), (16, 256), (32, 64), (32, 512)])
def test_rows_are_merged_as_by_hugging_face(row: int, tile: int) -> None:
    for model, words in models_and_words(seed=row + tile, models=2, words=max(4, tile // row), longest=row):
        assert merged_by(kernel.merge, table_of(model), words, row=row, tile=tile) == expected(model, words)


@pytest.mark.parametrize(("row", "least", "tile"), [(64, 32, 64), (128, 64, 256), (256, 128, 2048)])
def test_longer_words_are_merged_as_by_hugging_face(row: int, least: int, tile: int) -> None:
    for model, words in models_and_words(seed=tile, models=2, words=60, longest=256):
        longer = [*[word for word in words if least < len(word) <= row][:8], words[0] * (row // len(words[0]))]
        longer = [word for word in longer if len(word) > least]
        assert merged_by(kernel.merge, table_of(model), longer, row=row, least=least, tile=tile) == expected(
            model, longer
        )


def test_words_of_other_lengths_stay_as_they_are() -> None:
    lengths = [128, 129, 257, 256]
    starts = to_device(np.cumsum([0, *lengths]).astype(np.int32))
    table = PairTable.of([], np.zeros(256, np.int32))
    text, merged = to_device(np.zeros(sum(lengths), np.uint8)), to_device(np.full(sum(lengths), -7, np.int32))
    counts = torch.full((4,), -7, dtype=torch.int32, device=DEVICE)
    kernel.merge(
        text, starts, to_device(np.arange(4, dtype=np.int32)), to_device(table.slots), to_device(table.byte_ids),
        merged, counts, row=256, least=128, tile=16,
    )  # fmt: skip
    assert counts.tolist() == [-7, 129, -7, 256]
    assert [int((merged[a:b] == -7).all()) for a, b in itertools.pairwise(starts.tolist())] == [1, 0, 1, 0]


def test_no_words_and_other_rows() -> None:
    table = PairTable.of([], np.zeros(256, np.int32))
    assert merged_by(kernel.merge, table, [], row=16) == []
    with pytest.raises(ValueError, match="rows"):
        merged_by(kernel.merge, table, [b"a"], row=17)


@pytest.mark.parametrize("name", [n for n in ("tiny_o200k", "llama3") if n in corpus.tokenizer_names()])
def test_words_of_real_texts(name: str) -> None:
    core, _ = native_cores.core_and_reference(name)
    pipeline = read_pipeline(corpus.load_tokenizer(name))
    assert isinstance(pipeline, Pipeline)
    pairs = host_tables(pipeline, core).pairs
    words = {
        text.encode()[begin:end]
        for text in (*corpus.texts("multi", 2_500), *corpus.texts("zh", 500), "a" * 90, "中国" * 30)
        for begin, end in core.pre_tokens(text)
    }
    for least, row in itertools.pairwise((0, *kernel.ROWS)):
        chosen = sorted(word for word in words if least < len(word) <= row)
        ids = [core.encode_word(word, True) for word in chosen]
        assert merged_by(kernel.merge, pairs, chosen, row=row, least=least, tile=8192) == ids
