"""The GPU route when something fails: at every stage, before and after a batch, and after a fork."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import corpus
import pytest
from kernel_device import DEVICE, make_interpreter_faster, torch
from test_gpu_route import expected, made, rows
from tokenizers import Tokenizer

from lopt_plugin.encoder.encoder import Encoder
from lopt_plugin.routes.gpu import route as gpu
from lopt_plugin.routes.gpu.device import GpuUnavailableError, find_device, numbered
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.settings import Settings
from lopt_plugin.triton_kernels.batch import buffers as batch
from lopt_plugin.triton_kernels.common.limits import MOST_CHUNK_BYTES
from lopt_plugin.triton_kernels.compact import kernel as compact
from lopt_plugin.triton_kernels.emit import kernel as emit
from lopt_plugin.triton_kernels.lookup import kernel as lookup
from lopt_plugin.triton_kernels.merge import kernel as merge
from lopt_plugin.triton_kernels.pretokenize import launcher
from lopt_plugin.triton_kernels.word_cache import kernel as word_cache

# Each reaches every stage: entries, words for each row of the merge kernel and a long one, some twice.
TEXTS = ["the zzxqj unknownish " + "q" * 40 + " " + "xyz" * 100, "zzxqj the unknownish zzxqj"]
STAGES = [
    (batch, "clear"),
    (launcher, "start_bits"),
    (compact, "compact_bits"),
    (lookup, "lookup"),
    (emit, "find_separators"),
    (emit, "place_separators"),
    (word_cache, "claim"),
    (merge, "merge"),
    (word_cache, "keep"),
    (emit, "emit"),
    (emit, "emit_aside"),
    (emit, "row_offsets"),
]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)
    monkeypatch.setattr(gpu, "hard_texts", lambda _: ["a b", "isn't it"])


@pytest.fixture
def reference() -> Tokenizer:
    return corpus.load_tokenizer("tiny_o200k")


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def levels(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.levelname for record in caplog.records if record.levelno >= logging.WARNING]


def test_out_of_memory_at_any_stage(
    reference: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The batch is encoded on the host, logged once; the next one is right whatever the failed one left."""
    route = made(reference)
    for module, name in STAGES:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, raising(torch.cuda.OutOfMemoryError("no memory")))
            before = route.texts_on_host
            assert rows(route.encode_batch(TEXTS, PLAIN[True][False])) == expected(reference, TEXTS), name
            assert route.texts_on_host - before == len(TEXTS), name
        assert rows(route.encode_batch(TEXTS[::-1], PLAIN[True][False])) == expected(reference, TEXTS[::-1]), name
        assert route.usable
    assert route.texts_on_device == len(STAGES) * len(TEXTS)
    assert levels(caplog) == ["WARNING"]


@pytest.mark.parametrize(("module", "name"), STAGES)
def test_kernel_that_will_not_compile(
    reference: Tokenizer,
    module: Any,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from triton.compiler.errors import CompilationError

    route = made(reference)
    monkeypatch.setattr(module, name, raising(CompilationError("def kernel(): pass", None, "cannot compile this")))
    for _ in range(2):
        assert rows(route.encode_batch(TEXTS, PLAIN[True][False])) == expected(reference, TEXTS)
        assert rows(route.encode_on_device(TEXTS, PLAIN[True][False])) == expected(reference, TEXTS)
    assert not route.usable
    assert "cannot compile this" in str(route.failure)
    assert levels(caplog) == ["ERROR"]


def test_kernels_that_do_not_compile_when_the_route_is_made(
    reference: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lookup, "lookup", raising(RuntimeError("PassManager::run failed")))
    encoder = Encoder(reference, Settings.read({}, threads=1, route="gpu"))
    for _ in range(2):
        found = encoder.encode_batch_ids(TEXTS)
        assert [found.row(n).tolist() for n in range(len(found))] == expected(reference, TEXTS)
    assert "PassManager" in str(encoder.explain()["gpu"])
    assert caplog.text.count("the GPU is not used") == 1


@pytest.mark.parametrize("message", ["CUDA error: out of memory", "Triton Error [CUDA]: out of memory"])
def test_pinned_memory_and_modules_that_find_no_room(
    reference: Tokenizer, message: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    route = made(reference)
    with monkeypatch.context() as patch:
        patch.setattr(route._batch, "send", raising(RuntimeError(message)))
        assert rows(route.encode_batch(TEXTS, PLAIN[True][False])) == expected(reference, TEXTS)
    assert route.usable
    assert levels(caplog) == ["WARNING"]
    assert rows(route.encode_batch(TEXTS, PLAIN[True][False])) == expected(reference, TEXTS)
    assert route.texts_on_device == len(TEXTS)


def test_device_without_room_for_all_rows(
    reference: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each part fits, but not all together: the tensors are on the host."""
    route = made(reference, chunk_bytes=200)
    with monkeypatch.context() as patch:
        patch.setattr(gpu, "in_order", raising(torch.cuda.OutOfMemoryError("no memory")))
        for _ in range(2):
            found = route.encode_on_device(TEXTS, PLAIN[True][False])
            assert {part.device.type for part in found} == {"cpu"}
            assert rows(found) == expected(reference, TEXTS)
    assert route.usable
    assert levels(caplog) == ["WARNING"]
    assert rows(route.encode_on_device(TEXTS, PLAIN[True][False])) == expected(reference, TEXTS)


def test_a_lost_device_refuses_even_to_free_its_memory(
    reference: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It then refuses everything, even freeing its memory."""
    route = made(reference)
    monkeypatch.setattr(gpu, "in_order", raising(RuntimeError("CUDA error: an illegal memory access")))
    monkeypatch.setattr(route._batch, "release", raising(RuntimeError("CUDA error: an illegal memory access")))
    for _ in range(2):
        assert rows(route.encode_on_device(TEXTS, PLAIN[True][False])) == expected(reference, TEXTS)
    assert not route.usable
    assert levels(caplog) == ["ERROR"]


def test_no_device(reference: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(GpuUnavailableError, match="no CUDA device"):
        made(reference)
    encoder = Encoder(reference, Settings.read({}, threads=1))
    for _ in range(3):
        found = encoder.encode_batch_ids(TEXTS, device="cuda")
        assert {found.ids.device.type, found.row_offsets.device.type} == {"cpu"}
        assert [found.row(n).tolist() for n in range(len(found))] == expected(reference, TEXTS)
        table, mask = found.padded(7)
        assert (table[mask == 0] == 7).all()
    assert caplog.text.count("the GPU is not used") == caplog.text.count("could not move the batch to cuda") == 1
    assert "no CUDA device" in str(encoder.explain()["gpu"])


def test_driver_that_does_not_start(reference: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(torch.cuda, "current_device", raising(RuntimeError("CUDA driver initialization failed")))
    monkeypatch.setattr(torch.Tensor, "to", raising(RuntimeError("CUDA driver initialization failed")))
    encoder = Encoder(reference, Settings.read({}, threads=1))
    found = encoder.encode_batch_ids(TEXTS, device="cuda")
    assert [found.row(n).tolist() for n in range(len(found))] == expected(reference, TEXTS)
    assert "initialization failed" in str(encoder.explain()["gpu"])


@pytest.mark.parametrize("missing", ["torch", "triton"])
def test_library_that_is_missing(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(GpuUnavailableError, match=f"{missing} is not installed"):
        find_device()


@pytest.mark.parametrize(
    ("device", "capability", "reason"),
    [("cuda:2", (9, 0), "no device cuda:2"), ("cuda:1", (7, 0), "older"), ("cpu", (9, 0), "no kernels")],
)
def test_devices_that_will_not_do(
    device: str, capability: tuple[int, int], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    with pytest.raises(GpuUnavailableError, match=reason):
        find_device(device)


def test_cuda_means_the_current_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    assert [numbered(device) for device in ("cuda", "cuda:1")] == ["cuda:3", "cuda:1"]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert numbered("cuda") == "cuda"


def test_chunks_that_the_kernels_cannot_count(reference: Tokenizer) -> None:
    for size in (0, MOST_CHUNK_BYTES + 1):
        with pytest.raises(ValueError, match="chunk_bytes"):
            made(reference, chunk_bytes=size)


@pytest.mark.skipif(DEVICE != "cpu", reason="a process that computes on CUDA is not forked in a test")
def test_fork_while_the_locks_are_held(reference: Tokenizer) -> None:
    """The native route encodes the child's batch, without waiting for a lock of a thread that is not there."""
    encoder = Encoder(reference, Settings.read({}, threads=1, route="gpu"))
    encoder.encode_batch_ids(TEXTS)
    (route,) = encoder._runner.gpu._routes.values()
    assert isinstance(route, gpu.GpuRoute)
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with encoder._runner.gpu._lock, route._lock:
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        child = os.fork()
        if child == 0:
            found = encoder.encode_batch_ids(TEXTS)
            own = rows(route.encode_batch(TEXTS, PLAIN[True][False]))
            os._exit(0 if own == [found.row(n).tolist() for n in range(len(found))] else 3)
        assert _status(child, seconds=60) == 0
    finally:
        release.set()
        holder.join()


def _status(child: int, seconds: float) -> int | None:
    """The exit code; None if the child takes longer, which is then killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
