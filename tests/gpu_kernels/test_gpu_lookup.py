"""Words to ids on the device against a dictionary."""

from __future__ import annotations

import random

import numpy as np
import pytest
from kernel_device import DEVICE, make_interpreter_faster, to_device, torch

from lopt_plugin.triton_kernels.common.device_words import padded
from lopt_plugin.triton_kernels.common.hashing import choices, placed
from lopt_plugin.triton_kernels.common.word_ids import MISSED, SEPARATOR
from lopt_plugin.triton_kernels.lookup import kernel, naive
from lopt_plugin.triton_kernels.lookup.table import EntryTable


@pytest.fixture(autouse=True)
def _fast_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)


def random_vocabulary(rng: random.Random, entries: int) -> dict[bytes, int]:
    """Entries of 1 to 100 bytes, many of which differ in their last byte or their length only."""
    stem = bytes(rng.choices(range(250), k=100))
    words = {stem[:length] for length in range(1, 101, rng.choice([1, 3]))}
    words |= {word[:-1] + bytes([rng.randrange(250)]) for word in words}
    words |= {word + b"\0" * rng.randint(1, 9) for word in words}
    while len(words) < entries:
        words.add(bytes(rng.choices(b"ab", k=rng.randint(1, 20))))
    ids = rng.sample(range(1 << 30), len(words))
    return dict(zip(rng.sample(sorted(words), len(words)), ids, strict=True))


def look_up(words: list[bytes], table: EntryTable, tile: int) -> np.ndarray:
    text = b"".join(words)
    starts = np.cumsum([0, *map(len, words)]).astype(np.int32)
    word_ids, missed = (torch.full((len(words),), 7, dtype=torch.int32, device=DEVICE) for _ in range(2))
    count = torch.zeros(1, dtype=torch.int32, device=DEVICE)
    kernel.lookup(
        to_device(padded(np.frombuffer(text, np.uint8))),
        to_device(starts),
        to_device(table.slots),
        to_device(table.rests),
        table.longest,
        word_ids,
        missed,
        count,
        tile=tile,
    )
    found = word_ids.cpu().numpy()
    assert sorted(missed[: int(count)].tolist()) == np.flatnonzero(found == MISSED).tolist()
    return found


@pytest.mark.parametrize("tile", [16, 64, 1024])
def test_entries_of_every_length(tile: int) -> None:
    rng = random.Random(tile)
    vocabulary = random_vocabulary(rng, 400)
    table = EntryTable.of(vocabulary)
    words = rng.choices(sorted(vocabulary), k=150)
    words += [word[:-1] + bytes([word[-1] ^ 1]) for word in words[:50]]
    words += [b"\xff", bytes(300), b"\xff", b"a" * 101, b"", b"\xff"]
    rng.shuffle(words)
    words = [word for word in words if word or tile > 16]
    starts = np.cumsum([0, *map(len, words)]).astype(np.int32)
    assert np.array_equal(look_up(words, table, tile), naive.lookup(b"".join(words), starts, vocabulary))


def test_no_words_and_no_entries() -> None:
    assert len(look_up([], EntryTable.of({}), 16)) == 0
    assert look_up([b"a", b"\xff"], EntryTable.of({}), 16).tolist() == [MISSED, SEPARATOR]
    assert look_up([b"a"], EntryTable.of({b"a": 0}), 16).tolist() == [0]


def test_empty_entry_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        EntryTable.of({b"": 1})


def test_every_key_is_at_one_of_its_two_places() -> None:
    hashes = np.random.default_rng(0).integers(0, 1 << 64, 50_000, dtype=np.uint64)
    found, slots = placed(hashes)
    assert len(np.unique(found)) == len(hashes)
    assert (choices(hashes, slots) == found).any(axis=0).all()
    assert slots <= 1 << 17


def test_keys_of_one_hash() -> None:
    assert len(set(placed(np.full(2, 13, np.uint64))[0])) == 2
    with pytest.raises(ValueError, match="no place"):
        placed(np.full(3, 13, np.uint64))


def test_longer_entries_that_begin_alike() -> None:
    vocabulary = {b"0123456789abcdef" + bytes([k]) * rest: 300 * rest + k for k in range(9) for rest in range(1, 20)}
    words = [*vocabulary, b"0123456789abcdef"]
    assert look_up(words, EntryTable.of(vocabulary), 64).tolist() == [*vocabulary.values(), MISSED]


def test_all_bytes_of_a_long_word_are_compared() -> None:
    """A small table: many of the words look at the slot of the only entry."""
    words = [b"0123456789abcdef" + rest + bytes([k]) for rest in (b"", b"xy", b"0123456789") for k in range(250)]
    for entry in (words[7], words[257], words[507]):
        found = look_up(words, EntryTable.of({entry: 5}), 64)
        assert [word for word, number in zip(words, found.tolist(), strict=True) if number == 5] == [entry]
