"""Short texts take a shortcut: one native call that nothing of Python looks at."""

from __future__ import annotations

import contextlib
import copy
import random
import sys
import threading
from typing import Any

import corpus
import pytest
from tokenizers import AddedToken, Regex, Tokenizer, normalizers

from lopt_plugin.encoder.backend_watch import changes
from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.encoder.route_choice import CALLS_UNTIL_COMPARED
from lopt_plugin.pipeline import read_pipeline
from lopt_plugin.routes import core_values, native_core
from lopt_plugin.routes.request import PLAIN, EncodeRequest, NeedsReference
from lopt_plugin.settings import Settings

TEXTS = ["", "a", "Hello world", "naïve café \U0001f642", "<|endoftext|> text </s>", "x" * 4096, "y" * 4097]


def expected(backend: Tokenizer, text: str, add_special_tokens: bool = True) -> list[int]:
    ids: list[int] = backend.encode(text, add_special_tokens=add_special_tokens).ids
    return ids


def encoder_of(name: str, **settings: Any) -> Encoder:
    return Encoder(corpus.load_tokenizer(name), Settings.read({}, threads=1, **settings))


@pytest.mark.parametrize("name", corpus.tokenizer_names())
def test_ids_with_and_without_special_tokens(name: str) -> None:
    encoder, reference = encoder_of(name), corpus.load_tokenizer(name)
    for text in TEXTS:
        for special in (True, False):
            wanted = expected(reference, text, special)
            assert encoder.encode_list(text, special) == wanted
            assert encoder._state.short(text, special) in (None, wanted)
    if encoder.explain()["route"] == "native":
        assert encoder._state.short("Hello", False) is not None


def test_calls_that_do_not_take_the_shortcut() -> None:
    class Text(str):
        __slots__ = ()

    encoder = encoder_of("tiny_qwen2")
    encoder.encode_list("Hello")
    short = encoder._state.short
    assert short("Hello", True) is not None
    arguments: list[tuple[Any, Any]] = [
        ("y" * 4097, True), (Text("Hello"), True), ("\ud800", True), (b"Hello", True), (None, True), ("Hello", 1),
        ("Hello", None),
    ]  # fmt: skip
    for text, special in arguments:
        assert short(text, special) is None


@pytest.mark.parametrize("name", corpus.tokenizer_names())
def test_small_batches_with_and_without_special_tokens(name: str) -> None:
    encoder, reference = encoder_of(name), corpus.load_tokenizer(name)
    texts = [text for text in TEXTS if len(text) <= 4096]
    for special in (True, False):
        request = PLAIN[special][False]
        for batch in (texts, texts[:1], texts[1:3] * 5):
            wanted = [expected(reference, text, special) for text in batch]
            for _ in range(2):
                with contextlib.suppress(NeedsReference):
                    assert encoder._encode(batch, request)[0].ids == wanted
    if encoder.explain()["route"] == "native":
        found = encoder._state.short_and_snapshot(["Hello", "a"], PLAIN[False][False])
        assert found is not None
        assert found[0] == [expected(reference, text, False) for text in ("Hello", "a")]


def test_batches_that_do_not_take_the_shortcut() -> None:
    class Text(str):
        __slots__ = ()

    class Texts(list[str]):
        __slots__ = ()

    encoder = encoder_of("tiny_qwen2")
    encoder.encode_list("Hello")
    state, plain = encoder._state, PLAIN[True][False]
    found = state.short_and_snapshot(["Hello", "a"], plain)
    assert found is not None
    batches: list[Any] = [
        ["Hello", "y" * 4097], ["y" * 4096] * 8, ["Hello", Text("Hello")], ["\ud800", "a"], ["Hello", b"Hello"],
        ["Hello", ("a", "b")], [["Hello"]], ("Hello", "a"), Texts(["Hello"]), None, 3,
    ]  # fmt: skip
    for batch in batches:
        assert state.short_and_snapshot(batch, plain) is None
    others = [EncodeRequest(max_length=3), EncodeRequest(split_special_tokens=True)]
    assert all(state.short_and_snapshot(["Hello"], request) is None for request in others)
    found = state.short_and_snapshot(["y" * 4095] * 8, plain)
    assert found is not None
    assert encoder.explain()["calls"]["native"] == 1 + 2 + 8


@pytest.mark.parametrize(
    ("settings", "most"),
    [({"gpu_min_bytes": 100}, 99), ({"gpu_min_bytes": 0}, 0), ({"route": "gpu"}, 0), ({"parallel_min_chars": 100}, 99)],
)
def test_batches_for_threads_or_the_gpu_do_not_take_the_shortcut(settings: dict[str, Any], most: int) -> None:
    encoder = encoder_of("tiny_qwen2", **settings)
    short = encoder._state.snapshot().short
    assert short is not None
    assert short.encode_batch(["x" * (most + 1)], False) is None
    if most:
        assert short.encode_batch(["x" * (most - 1), "x"], False) is not None


def test_a_batch_that_is_changed_while_it_is_encoded() -> None:
    """Texts of some thousand characters are encoded without the interpreter lock."""
    encoder = encoder_of("tiny_qwen2")
    text = "Hello world, again and again. " * 130
    wanted, batch, done = expected(encoder._backend, text), [text] * 8, threading.Event()

    def change() -> None:
        while not done.is_set():
            batch.clear()
            batch.extend([text + "" for _ in range(8)])

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(200):
            rows = encoder._encode(batch, PLAIN[True][False])[0].ids
            assert all(row == wanted for row in rows)
    finally:
        done.set()
        changer.join()


def test_every_change_stops_it() -> None:
    encoder = encoder_of("tiny_qwen2")
    backend = encoder._backend
    all_changes = [
        lambda: setattr(backend, "normalizer", normalizers.Lowercase()),
        lambda: backend.add_tokens([AddedToken("Hell", normalized=False)]),
        lambda: setattr(backend, "normalizer", None),
    ]
    encoder.encode_list("Hello")
    for change in all_changes:
        stopped = encoder._state.short
        assert stopped("Hello HELLO", False) is not None
        change()
        assert stopped("Hello HELLO", False) is None
        texts = ["Hello HELLO", "Hell"]
        assert encoder._encode(texts, PLAIN[False][False])[0].ids == [expected(backend, text, False) for text in texts]
        for _ in range(3):
            assert encoder.encode_list("Hello HELLO", False) == expected(backend, "Hello HELLO", False)


def test_changes_while_other_threads_make_encoders() -> None:
    class Native:
        def stop(self) -> None: ...

    def make() -> None:
        kept: list[Native] = []
        while not done.is_set():
            kept.append(Native())
            changes.stop_at_next(kept[-1])
            del kept[:-200]

    before, done = len(changes._answering), threading.Event()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        makers = [threading.Thread(target=make) for _ in range(3)]
        for maker in makers:
            maker.start()
        for _ in range(300):
            changes.count()
    finally:
        done.set()
        for maker in makers:
            maker.join()
        sys.setswitchinterval(interval)
    assert len(changes._answering) <= before


def test_the_backend_is_compared_now_and_then() -> None:
    encoder = encoder_of("tiny_qwen2")
    compared: list[int] = []
    encoder._state._stale = lambda snapshot: compared.append(1) is not None  # type: ignore[method-assign]
    for _ in range(4 * CALLS_UNTIL_COMPARED):
        encoder.encode_list("Hello")
    assert 3 <= len(compared) <= 5


def test_calls_are_counted_once() -> None:
    encoder = encoder_of("tiny_qwen2")
    for text in TEXTS:
        encoder.encode_list(text)
    assert encoder.explain()["calls"]["native"] == len(TEXTS)
    encoder._backend.add_tokens(["another"])
    for text in TEXTS:
        encoder.encode_list(text)
    assert encoder.explain()["calls"]["native"] == 2 * len(TEXTS)


def test_a_copy_is_stopped_by_itself() -> None:
    tokenizer = encoder_of("tiny_qwen2")
    copied = tokenizer._copy_for(copy.deepcopy(tokenizer._backend))
    wanted = expected(tokenizer._backend, "Hello")
    assert tokenizer.encode_list("Hello") == copied.encode_list("Hello") == wanted
    tokenizer._state.force_to_hf("a test")
    assert tokenizer._state.short("Hello", True) is None
    assert copied._state.short("Hello", True) == wanted
    assert tokenizer.explain()["calls"]["native"] == 1


def test_observed_and_verified_calls_do_not_take_the_shortcut() -> None:
    verified = encoder_of("tiny_qwen2", verify=1.0)
    for text in TEXTS:
        verified.encode_list(text)
    assert verified.explain()["calls"]["verified"] == len(TEXTS)

    class Counter:
        calls = 0

        def encoded(self, route: str, seconds: float) -> None:
            self.calls += 1

        def fell_back(self, reason: str) -> None: ...
        def remembered(self, counts: dict[str, int]) -> None: ...

    observed = encoder_of("tiny_qwen2")
    observed.encode_list("Hello")
    observed._runner.observer = counter = Counter()  # type: ignore[assignment]
    for text in TEXTS:
        observed.encode_list(text)
    assert counter.calls == len(TEXTS)
    observed._runner.observer = None
    for _ in range(CALLS_UNTIL_COMPARED):
        observed.encode_list("Hello")
    assert observed._state.short("Hello", True) is not None


def test_an_error_is_left_to_the_caller_and_an_interrupt_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A normalizer that is not native asks the reference, in Python, while a text is encoded."""
    raised: list[type[BaseException]] = [ValueError]

    def ask(state: str) -> Any:
        def normalize(text: str) -> str:
            if "\u0301" in text:
                raise raised[0]
            return text

        return normalize

    monkeypatch.setattr(core_values, "_reference", ask)
    backend = corpus.load_tokenizer("tiny_qwen2")
    backend.normalizer = normalizers.Replace(Regex("e\u0301"), "e")
    short = native_core.build_core(read_pipeline(backend)).short_encoder(100, 100, None)
    short.allow(10)
    assert short.encode("plain", False) is not None
    assert short.encode("cafe\u0301", False) is None
    raised[0] = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        short.encode("cafe\u0301", False)
    raised[0] = ValueError
    assert short.encode_batch(["plain", "cafe\u0301"], False) is None
    assert short.texts == 1


def test_special_ids_that_the_core_does_not_know_are_refused() -> None:
    core = encoder_of("tiny_qwen2")._state.snapshot().native.core  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="not an id of this core"):
        core.short_encoder(10, 10, ([core.id_count()], []))


def test_special_ids_are_those_of_the_post_processor() -> None:
    core = encoder_of("tiny_qwen2")._state.snapshot().native.core  # type: ignore[union-attr]
    random_ids = random.Random(1)
    for before, after in ((0, 0), (1, 0), (0, 1), (3, 2)):
        around = [[random_ids.randrange(core.id_count()) for _ in range(n)] for n in (before, after)]
        short = core.short_encoder(100, 100, tuple(around))
        assert short.encode("Hello", True) is None
        short.allow(2)
        plain = short.encode("Hello", False)
        assert short.encode("Hello", True) == around[0] + plain + around[1]
        assert not short.is_allowed()
        assert short.texts == 2
    unknown = core.short_encoder(100, 100, None)
    unknown.allow(2)
    assert unknown.encode("Hello", True) is None
    assert unknown.encode("Hello", False) == plain
