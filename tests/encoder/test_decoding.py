"""Ids to text against the reference: every id, rows of all kinds, streams, and tokenizers that change."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import sys
from collections.abc import Callable
from typing import Any

import corpus
import hard_vocabulary
import numpy as np
import pytest
import tier
from tokenizers import AddedToken, Tokenizer, decoders, models
from tokenizers.decoders import DecodeStream

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.settings import Settings
from lopt_plugin.unicode_tables.byte_level import alphabet

ONE_THREAD = Settings(threads=1)
INVALID = "an invalid prefix"


def decoding_of(encoder: Encoder) -> dict[str, Any]:
    found: dict[str, Any] = encoder.explain()["decoding"]
    return found


def ids_of(backend: Tokenizer) -> range:
    """All ids, those of gaps and two beyond the largest."""
    return range(max(backend.get_vocab(True).values()) + 3)


def check_rows(encoder: Encoder, rows: list[list[int]]) -> None:
    backend = encoder._backend
    for skip in (True, False):
        expected = [backend.decode(row, skip_special_tokens=skip) for row in rows]
        assert encoder.decode_batch(rows, skip) == expected
        assert [encoder.decode_ids(row, skip) for row in rows] == expected


def parts(step: Callable[[int], str | None], ids: list[int]) -> list[str | None]:
    """What the steps give, up to an invalid prefix."""
    found: list[str | None] = []
    for number in ids:
        try:
            found.append(step(number))
        except Exception as error:
            return [*found, f"{type(error)}: {error}"]
    return found


def check_streams(encoder: Encoder, rows: list[list[int]]) -> None:
    backend = encoder._backend
    for number, row in enumerate(rows):
        before, skip = row[: number % 4], number % 2 == 0
        expected = DecodeStream(ids=before, skip_special_tokens=skip)
        stream = encoder.decode_stream(before, skip)
        ids = row[len(before) :]
        assert parts(stream.step, ids) == parts(lambda i, e=expected: e.step(backend, i), ids), (before, ids, skip)


@pytest.mark.every_parameter
@pytest.mark.parametrize("kind", hard_vocabulary.SUPPORTED)
def test_hard_tokens(kind: str) -> None:
    backend = hard_vocabulary.with_decoder(hard_vocabulary.SUPPORTED[kind])
    encoder = Encoder(backend, ONE_THREAD)
    ids = list(ids_of(backend))
    check_rows(encoder, [[one] for one in ids])
    check_rows(encoder, [[one, other] for one in ids for other in ids])
    rows = hard_vocabulary.rows_of(ids, tier.pick(400, 4000), seed=1)
    check_rows(encoder, rows)
    check_streams(encoder, rows)
    assert (decoding_of(encoder)["route"], decoding_of(encoder)["streams"]) == ("native", "native")


@pytest.mark.parametrize("kind", sorted(set(hard_vocabulary.UNSUPPORTED) - {"Strip of a text at the end"}))
def test_decoders_left_to_the_reference(kind: str) -> None:
    backend = hard_vocabulary.with_decoder(hard_vocabulary.UNSUPPORTED[kind])
    encoder = Encoder(backend, ONE_THREAD)
    # The reference panics where there is too little to strip.
    ids = [number for number in ids_of(backend) if len(backend.id_to_token(number) or "") > 1]
    rows = hard_vocabulary.rows_of(ids, 40, seed=2)
    check_rows(encoder, rows)
    check_streams(encoder, rows)
    found = decoding_of(encoder)
    assert found["route"] == "hf"
    assert encoder.explain()["hf_calls"] == {
        f"decode_batch: {found['reason']}": 2,
        f"decode_ids: {found['reason']}": 80,
        f"decode_stream: {found['reason']}": 40,
    }


@pytest.mark.parametrize("name", corpus.tokenizer_names())
def test_tokenizers(name: str) -> None:
    """All ids alone, random rows, and real texts whose ids are cut at every place."""
    backend = corpus.load_tokenizer(name)
    encoder = Encoder(backend, ONE_THREAD)
    ids = ids_of(backend)
    check_rows(encoder, [[number] for number in ids])
    added = list(backend.get_added_tokens_decoder())
    # Tokens of one character: beginnings and ends of characters, or bytes.
    short = [number for number in ids if len(backend.id_to_token(number) or "") in (1, 6)]
    rows = hard_vocabulary.rows_of(list(ids), 200, seed=3) + hard_vocabulary.rows_of(short + added, 200, seed=4)
    text = "".join(corpus.texts("multi", 3000)) + " \N{GRINNING FACE}\u200d\U0001f600 e\u0301\t\n\n  "
    whole = backend.encode(text).ids
    rows += [whole[start : start + 9] for start in range(0, len(whole), 3)]
    check_rows(encoder, rows)
    check_streams(encoder, [*rows, whole])
    assert (decoding_of(encoder)["route"], decoding_of(encoder)["streams"]) == ("native", "native")


@pytest.mark.parametrize(("name", "spelling"), [("tiny_qwen2", alphabet()), ("tiny_llama2", None)])
def test_bytes_at_the_edges_of_characters(name: str, spelling: str | None) -> None:
    """Byte tokens: forms that are too long, surrogates, what lies beyond U+10FFFF, characters that break off."""
    backend = corpus.load_tokenizer(name)
    firsts = (0x7F, 0x80, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF)
    seconds = (0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE0, 0xF0)
    ids = [backend.token_to_id(f"<0x{byte:02X}>" if spelling is None else spelling[byte]) for byte in range(256)]
    whole = list(itertools.product(firsts, seconds, (0x41, 0x7F, 0x80, 0xBF, 0xC0), (0x7F, 0x80, 0xBF)))
    rows = [[ids[byte] for byte in row] for row in sorted({row[:length] for row in whole for length in (1, 2, 3, 4)})]
    encoder = Encoder(backend, ONE_THREAD)
    check_rows(encoder, rows)
    check_streams(encoder, rows[:: tier.pick(7, 1)])
    assert (decoding_of(encoder)["route"], decoding_of(encoder)["streams"]) == ("native", "native")


def test_a_stream_is_linear_in_ids_without_text() -> None:
    """The reference decodes them all again at every step."""
    backend = hard_vocabulary.with_decoder(decoders.ByteLevel())
    stream = Encoder(backend, ONE_THREAD).decode_stream(skip_special_tokens=True)
    special, shown = backend.token_to_id("<s>"), backend.token_to_id("word")
    assert stream.step([special] * 50_000) is None
    assert [stream.step(special) for _ in range(20_000)] == [None] * 20_000
    assert stream.step(shown) == "word"


def test_invalid_prefix() -> None:
    backend = hard_vocabulary.with_decoder(decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()]))
    # "A" is taken back by the byte that makes its run no text; the next token shows it.
    ids = [backend.token_to_id(token) for token in ("<0x41>", "<0xC3>", "a", "word")]
    stream, expected = Encoder(backend, ONE_THREAD).decode_stream(), DecodeStream()
    for number in ids:
        found, wanted = (parts(step, [number]) for step in (stream.step, lambda i: expected.step(backend, i)))
        assert found == wanted
        assert "Invalid prefix" in str(wanted) or number in ids[:2]


@pytest.mark.parametrize(
    "ids", [-1, 1 << 32, 1 << 70, None, "a", 1.0, [1, None], [[1]], True, np.int64(3), [1, np.int32(2)], (1, 2), [], 5]
)
def test_ids_of_a_step(ids: Any) -> None:
    backend = hard_vocabulary.with_decoder(None)
    stream, expected = Encoder(backend, ONE_THREAD).decode_stream(), DecodeStream()
    for given in (4, ids, 5, 9):
        assert parts(stream.step, [given]) == parts(lambda i: expected.step(backend, i), [given])


@pytest.mark.parametrize("ids", [[-1], [1 << 32], [None], ["a"], "ab", [1.5], [[1]], None, 7])
def test_no_ids(ids: Any) -> None:
    backend = hard_vocabulary.with_decoder(None)
    encoder = Encoder(backend, ONE_THREAD)
    kind = OverflowError if ids in ([-1], [1 << 32]) else TypeError
    with pytest.raises(kind):
        encoder.decode_ids(ids)
    with pytest.raises(kind):
        encoder.decode_batch([ids])
    with pytest.raises(kind):
        encoder.decode_stream(ids)


def test_an_array_without_dimensions() -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), ONE_THREAD)
    for call in (encoder.decode_ids, encoder.decode_stream, lambda ids: encoder.decode_batch([ids])):
        with pytest.raises(TypeError, match="ids must be a sequence of int, not ndarray"):
            call(np.array(5))


def test_kinds_of_rows() -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), ONE_THREAD)
    texts = ["Hello world", "", "\u00e9 \u4e2d"]
    batch = encoder.encode_batch_ids(texts)
    rows = [batch.row(number) for number in range(3)]
    for given in (batch, rows, [row.tolist() for row in rows], [tuple(row) for row in rows]):
        assert encoder.decode_batch(given) == texts
    assert encoder.decode_ids(rows[0]) == encoder.decode_ids(tuple(rows[0].tolist())) == texts[0]
    assert encoder.decode_batch([]) == []


def test_changes_are_noticed() -> None:
    backend = hard_vocabulary.with_decoder(decoders.WordPiece())
    encoder = Encoder(backend, ONE_THREAD)
    rows = [[number, number] for number in ids_of(backend)]
    stream, expected = encoder.decode_stream(), DecodeStream()

    def check() -> None:
        check_rows(encoder, rows)
        for number in (9, 10, 9):
            assert parts(stream.step, [number]) == parts(lambda i: expected.step(backend, i), [number])

    check()
    backend.decoder.prefix = "a"
    check()
    backend.decoder = decoders.Metaspace()
    check()
    part = backend.decoder
    part.prepend_scheme = "never"
    check()
    backend.add_tokens([AddedToken("<new>")])
    rows.append([max(backend.get_vocab(True).values())])
    check()
    backend.add_special_tokens([AddedToken("<new>", special=True)])
    check()
    backend.decoder = decoders.BPEDecoder("a")
    check()
    assert decoding_of(encoder)["route"] == "hf"
    backend.decoder = decoders.ByteLevel()
    check()
    assert decoding_of(encoder)["route"] == "native"


def test_a_decoder_is_replaced_before_the_first_step() -> None:
    """The text of the ids before is left out, whoever decodes."""
    backend = hard_vocabulary.with_decoder(None)
    before = [backend.token_to_id(token) for token in ("word", "a")]
    for decoder in (decoders.Metaspace(), decoders.BPEDecoder("a")):
        backend.decoder = None
        stream, expected = Encoder(backend, ONE_THREAD).decode_stream(before), DecodeStream(ids=before)
        backend.decoder = decoder
        for number in (9, 10, 9):
            assert parts(stream.step, [number]) == parts(lambda i, e=expected: e.step(backend, i), [number])


def test_a_token_of_the_model_is_spelled_like_a_special_one() -> None:
    backend = hard_vocabulary.with_decoder(None)
    backend.add_special_tokens(["<late>"])
    vocabulary = backend.get_vocab(False)
    gap = next(number for number in range(100) if number not in vocabulary.values())
    backend.model = models.WordLevel({**vocabulary, "<late>": gap}, unk_token="a")
    encoder = Encoder(backend, ONE_THREAD)
    check_rows(encoder, [[gap], [5, gap, 6], [backend.token_to_id("<late>")]])
    assert backend.decode([gap], skip_special_tokens=True) == ""
    assert decoding_of(encoder)["route"] == "native"


def test_other_tokenizers_that_change() -> None:
    """Cost a comparison, not a new table."""
    encoder = Encoder(hard_vocabulary.with_decoder(None), ONE_THREAD)
    encoder.decode_ids([5])
    found = encoder._decoding._found
    hard_vocabulary.with_decoder(decoders.Metaspace())
    assert encoder.decode_ids([5]) == "\u2581\u2581a"
    assert encoder._decoding._found is found


def test_copies_share_the_table() -> None:
    backend = corpus.load_tokenizer("tiny_qwen2")
    encoder = Encoder(backend, ONE_THREAD)
    encoder.decode_ids([5])
    copied = encoder._copy_for(copy.deepcopy(backend))
    assert copied._decoding._found is not None
    assert copied._decoding._found.decoder.table is encoder._decoding._found.decoder.table  # type: ignore[union-attr]
    copied._backend.decoder = decoders.Metaspace()
    check_rows(copied, [[300, 400], [500]])
    check_rows(encoder, [[300, 400], [500]])
    other = copy.deepcopy(backend)
    other.add_tokens([AddedToken("<new>")])
    check_rows(encoder._copy_for(other), [[300, other.token_to_id("<new>")]])
    assert len(pickle.dumps(encoder)) == len(pickle.dumps(Encoder(backend, ONE_THREAD)))


@pytest.mark.parametrize("settings", [Settings(1, decode=False), Settings(1, route="hf")])
def test_switched_off(settings: Settings) -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), settings)
    check_rows(encoder, [[300, 400], [500]])
    check_streams(encoder, [[300, 400, 401, 402]])
    assert decoding_of(encoder)["route"] == "hf"


def test_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings(1, verify=1.0))
    check_rows(encoder, [[300, 400], [500]])
    assert encoder.explain()["calls"]["verified"] == 6
    assert decoding_of(encoder)["route"] == "native"
    check_streams(encoder, [[300, 400, 401, 402, 300]])
    assert decoding_of(encoder)["route"] == "native"
    # Another table, as if a fault were in it.
    other = Encoder(hard_vocabulary.with_decoder(None), ONE_THREAD)
    other.decode_ids([5])
    found = encoder._decoding._found
    assert found is not None
    object.__setattr__(found, "decoder", other._decoding.current().decoder)
    check_rows(encoder, [[300, 400], [500]])
    assert "verification" in decoding_of(encoder)["reason"]


def test_verification_of_streams() -> None:
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), Settings(1, verify=1.0))
    stream, expected = encoder.decode_stream(), DecodeStream()
    for number in (300, 400, 401, 402):
        assert stream.step(number) == expected.step(encoder._backend, number)
    assert decoding_of(encoder)["route"] == "native"
    # Another table, as if a fault were in it.
    stream._native = Encoder(hard_vocabulary.with_decoder(None), ONE_THREAD).decode_stream()  # type: ignore[attr-defined]
    for number in (300, 400):
        assert stream.step(number) == expected.step(encoder._backend, number)
    assert "verification" in decoding_of(encoder)["reason"]


def test_an_error_while_the_decoder_is_read(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    class Panic(BaseException):
        pass

    def panics(*_: Any) -> None:
        raise Panic("in Rust")

    monkeypatch.setattr("lopt_plugin.encoder.decoding.tokens_of", panics)
    encoder = Encoder(hard_vocabulary.with_decoder(None), ONE_THREAD)
    check_rows(encoder, [[5], [6]])
    assert decoding_of(encoder)["reason"] == "reading the decoder failed: Panic: in Rust"
    assert "reading the decoder failed" in caplog.text


def test_self_check(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A table that is not the reference's is not used."""
    monkeypatch.setattr("lopt_plugin.routes.token_table._special_ids", lambda backend, tokens: [])
    encoder = Encoder(hard_vocabulary.with_decoder(None), ONE_THREAD)
    check_rows(encoder, [[70], [71]])
    assert "self-check" in decoding_of(encoder)["reason"]
    assert "Please report" in caplog.text


def test_finalizers_that_decode_in_the_middle_of_a_call() -> None:
    """Before CPython 3.12 the garbage collector may run whenever memory for a list is asked for."""
    encoder = Encoder(corpus.load_tokenizer("tiny_qwen2"), ONE_THREAD)
    encoder.decode_ids([1])
    decoder = encoder._decoding.current().decoder
    expected = [encoder._backend.id_to_token(number) for number in (1, 2, 3)]
    finished: list[str] = []
    tokens_of, ids = decoder.tokens, [1, 2, 3]

    class Decodes:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            finished.append(decoder.decode([40, 50], False))

    gc.collect()
    gc.disable()
    try:
        Decodes()
        held: list[list[int]] = [[] for _ in range(1_000)]  # so that the next list needs new memory
        gc.enable()
        tokens = tokens_of(ids)
    finally:
        gc.enable()
    assert tokens == expected
    assert len(held) == 1_000
    if sys.version_info < (3, 12):
        assert finished
