"""Texts packed by the native core against Python's own encoding, one after the other."""

from __future__ import annotations

import itertools
import random
import threading
from typing import Any

import corpus
import native_cores
import numpy as np
import pytest
from gpu_layout import AddedTokenFinder, lay_out
from tokenizers import AddedToken, normalizers

from lopt_plugin.native._core import NeedsReference
from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.settings import Settings

# Of one, two and four bytes a character in Python's strings, and of one to four in UTF-8.
ALPHABETS = ["az \t\x00", "aé\xff\x80", "aé中\uffff", "é中😀\U0010ffff"]


def expected(texts: list[str]) -> bytes:
    return b"".join(text.encode() + b"\xff" for text in texts)


def pack(
    core: Any, texts: list[str], out: Any, around: tuple[list[int], list[int]], *more: Any, part: int = 65536
) -> Any:
    """All texts at once. more: see `TextsToPack.pack`."""
    return core.texts_to_pack(texts, more[1] if more else 1, part).pack(np.arange(len(texts)), out, *around, *more)


def left_to_the_host(to_pack: Any, texts: list[str]) -> list[bool]:
    """Whether the normalizer may change each text; compares the bytes of the others."""
    groups, others = to_pack.chunks(0, 1, 0, 1 << 40)  # a group for each text
    left = set(others.tolist())
    assert [(numbers.tolist(), size) for numbers, size in groups] == [
        ([number], len(text.encode())) for number, text in enumerate(texts) if number not in left
    ]
    return [number in left for number in range(len(texts))]


def compare(texts: list[str], threads: int, part_characters: int, spare: int = 0) -> None:
    core, _ = native_cores.core_and_reference("roberta_base")
    data = expected(texts)
    out = np.full(len(data) + spare, 0xAA, np.uint8)
    size, positions, token_ids, row_ends = pack(core, texts, out, ([], []), False, threads, part=part_characters)
    assert positions.dtype == token_ids.dtype == row_ends.dtype == np.int32
    assert size == len(data)
    assert positions.tolist() == (np.cumsum([len(text.encode()) + 1 for text in texts]) - 1).tolist()
    assert token_ids.tolist() == [-2] * len(texts)
    assert row_ends.tolist() == list(range(len(texts)))
    assert out[: len(data)].tobytes() == data
    assert (out[len(data) :] == 0xAA).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("part_characters", [0, 1, 7, 64, 65536])
def test_texts_of_every_width(threads: int, part_characters: int) -> None:
    rng = random.Random(part_characters)
    for most in (0, 3, 40, 300):
        texts = ["".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(0, most))) for _ in range(30)]
        compare(texts, threads, part_characters, spare=rng.choice([0, 1, 100]))
    compare([], threads, part_characters)
    compare([""], threads, part_characters)


@pytest.mark.parametrize("around", [([], []), ([7], []), ([], [8, 9]), ([1, 2], [3])])
def test_added_tokens_are_taken_out(around: tuple[list[int], list[int]]) -> None:
    """As the reference in Python has it: tokens that overlap and touch, in texts of every width."""
    tokenizer = corpus.load_tokenizer("tiny_cl100k")
    tokenizer.add_tokens(["<plain>", AddedToken("<plain>er", normalized=False), "in>e", "é中"])
    tokenizer.add_special_tokens(["<sp>", AddedToken("<pl", normalized=False)])
    pipeline = read_pipeline(tokenizer)
    assert isinstance(pipeline, Pipeline)
    core = NativeRoute(pipeline, Settings.read({}, threads=1, prefix_cache_mb=0)).core
    finder = AddedTokenFinder(pipeline.added_tokens)
    contents = [token.content for token in pipeline.added_tokens if finder.takes(token.content)]
    rng = random.Random(str(around))
    for most, rows in ((0, 3), (6, 200), (3000, 12)):
        texts = [
            "".join(rng.choice([*contents, *"<ai>中é😀", " some words"]) for _ in range(rng.randint(0, most)))
            for _ in range(rows)
        ]
        for split in (False, True):
            layout = lay_out((finder.stretches(text, split) for text in texts), *around)
            data = expected(layout.pieces)
            out = np.full(4 * sum(map(len, texts)) + 4 * rows, 0xAA, np.uint8)
            for threads in (1, 3):
                size, positions, token_ids, row_ends = pack(core, texts, out, around, split, threads, part=50)
                assert out[:size].tobytes() == data
                assert positions.tolist() == [place for place, byte in enumerate(data) if byte == 0xFF]
                assert token_ids.tolist() == layout.token_ids.tolist()
                assert row_ends.tolist() == layout.row_ends.tolist()


@pytest.mark.parametrize("letter", ["x", "é", "中", "\U0001f600"])
def test_a_token_wherever_a_text_is_divided(letter: str) -> None:
    core, reference = native_cores.core_and_reference("tiny_cl100k")
    number, added = next(iter(reference.tokenizer.get_added_tokens_decoder().items()))
    token = added.content
    for before in range(40):
        text = letter * before + token + letter * 30
        out = np.zeros(4 * len(text), np.uint8)
        size, positions, token_ids, _ = pack(core, [text], out, ([], []), False, 2, part=20)
        assert token_ids.tolist() == [number, -2]
        assert out[:size].tobytes() == text.encode().replace(token.encode(), b"\xff") + b"\xff"
        assert positions.tolist() == [len((letter * before).encode()), size - 1]


def test_added_tokens_in_white_space_that_another_took() -> None:
    """The reference gives both tokens, and goes on after the second: text between the two can come twice."""
    core, reference = native_cores.core_and_reference("tiny_tekken")
    right, lines = 3004, 3011
    rows: list[tuple[str, list[str | int]]] = [
        ("<|right|>\n\n\n\n\n\n z", [right, lines, lines, " z"]),
        ("é<|right|> \n\n\n \n\n\n  z", ["é", right, lines, " ", lines, "  z"]),
        ("a<|right|>\n\n\n<|right|> \n\n\n", ["a", right, lines, right, lines]),
    ]
    for text, parts in rows:
        ids = [[part] if isinstance(part, int) else reference.ids([part])[0] for part in parts]
        assert core.encode(text) == reference.ids([text])[0] == list(itertools.chain(*ids))
        with pytest.raises(NeedsReference, match="share white space"):
            pack(core, [text] * 50, np.zeros(50 * (len(text.encode()) + 1), np.uint8), ([], []), False, 2)


@pytest.mark.parametrize("kind", corpus.corpora())
def test_documents(kind: str) -> None:
    texts = corpus.texts(kind, 200_000)
    compare(texts, 2, 1000)
    compare(["".join(texts)], 2, 1000)


@pytest.mark.parametrize("name", ["tiny_cl100k", "wordpiece_cased"])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_cannot_be_packed(name: str, threads: int) -> None:
    core, _ = native_cores.core_and_reference(name)
    for surrogate in ("\ud800", "\udfff", "é\udc00😀", "中" * 70 + "\ud800" + "中" * 200, "😀" * 70 + "\udfff" * 200):
        out = np.zeros(64 + 4 * len(surrogate), np.uint8)
        with pytest.raises(ValueError, match="lone surrogate"):
            pack(core, ["a", "b" * 20, surrogate, "c"], out, ([], []), False, threads, part=max(4, len(surrogate)))
    out = np.zeros(64, np.uint8)
    with pytest.raises(ValueError, match="room"):
        pack(core, ["中" * 10, "a" * 34], out, ([], []), False, threads, part=4)
    with pytest.raises(TypeError):
        core.texts_to_pack(["a", b"b"], threads)
    for wrong in (out.view(np.int8), out[::2], out.reshape(8, 8), bytes(64)):
        with pytest.raises(TypeError):
            pack(core, ["a"], wrong, ([], []), False, threads)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        pack(core, ["a"], out, ([], []), False, threads)


def test_some_texts_in_any_order() -> None:
    core, _ = native_cores.core_and_reference("roberta_base")
    texts = ["é" * n for n in range(9)]
    to_pack = core.texts_to_pack(texts, 2, 3)
    del texts[:]
    for numbers in ([8, 0, 3, 3], [], [5]):
        data = expected(["é" * number for number in numbers])
        out = np.full(40, 0xAA, np.uint8)
        size, _, _, row_ends = to_pack.pack(np.array(numbers, np.int64), out, [], [])
        assert out[:size].tobytes() == data
        assert (out[size:] == 0xAA).all()
        assert row_ends.tolist() == list(range(len(numbers)))
    for wrong in (9, -1, 2**40):
        with pytest.raises(IndexError):
            to_pack.pack(np.array([0, wrong]), np.zeros(40, np.uint8), [], [])


def test_added_tokens_that_share_white_space() -> None:
    """The first takes white space with which the second begins. The reference gives both; a row would hold it twice."""
    core, _ = native_cores.core_and_reference("tiny_roberta")
    out = np.zeros(64, np.uint8)
    with pytest.raises(NeedsReference, match="share white space"):
        pack(core, ["<|right|>\n\n\n x"], out, ([], []))
    assert pack(core, ["<|right|>\n\n x"], out, ([], []))[0] == 3


def test_a_list_changed_by_another_thread() -> None:
    """What was in the list at the call is packed; the strings live until that is done."""
    core, _ = native_cores.core_and_reference("roberta_base")
    for _ in range(20):
        texts = [chr(0x4E00 + n) * 5000 for n in range(50)]
        data = expected(texts)
        out = np.empty(len(data), np.uint8)
        emptying = threading.Timer(0.0001, texts.clear)
        emptying.start()
        to_pack = core.texts_to_pack(texts, 2)
        groups, _ = to_pack.chunks(0, 0, 1 << 40, 1 << 40)
        numbers = groups[0][0] if groups else np.arange(0)
        size, _, _, _ = to_pack.pack(numbers, out, [], [], False, 2)
        emptying.join()
        # The list may have been empty already.
        assert not size or out.tobytes() == data


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_texts_that_the_normalizer_certainly_leaves_unchanged(form: str) -> None:
    """Others may change, in texts of any number of parts; and most unchanged texts are said to stay."""
    tokenizer = corpus.load_tokenizer("tiny_qwen2")
    rng = random.Random(form)
    alphabets = [
        "ab é\u0301\u0323",
        "aḍ̇ क़\u093c\u094d",
        "한글ᄀ\u1161\u11a8",
        "ﬁ①²a'’",
        "中文,。\U0001f600",
        "aA\u0345ΑΙ",
    ]
    texts = ["".join(rng.choices(rng.choice(alphabets), k=rng.choice([1, 2, 5, 40, 300]))) for _ in range(2000)]
    texts += ["中" * 70_000 + "e\u0301", "’" * 70_000 + "a", "中" * 200_000]
    # With Lowercase, every part is examined; without it, only those with characters of which the form asks.
    for steps in ([], [normalizers.Lowercase()]):
        tokenizer.normalizer = normalizers.Sequence([getattr(normalizers, form)(), *steps])
        pipeline = read_pipeline(tokenizer)
        assert isinstance(pipeline, Pipeline)
        core = NativeRoute(pipeline, Settings.read(prefix_cache_mb=0)).core
        doubtful = left_to_the_host(core.texts_to_pack(texts, 3), texts)
        unchanged = [tokenizer.normalizer.normalize_str(text) == text for text in texts]
        assert not [text for text, one, same in zip(texts, doubtful, unchanged, strict=True) if not one and not same]
        for part_characters in (1, 2, 5):  # divided anywhere, the answer is the same
            to_pack = core.texts_to_pack(texts[:2000], 3, part_characters)
            assert left_to_the_host(to_pack, texts[:2000]) == doubtful[:2000]
        assert doubtful.count(False) > 0.5 * sum(unchanged) > 100
