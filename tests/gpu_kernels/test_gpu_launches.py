"""Recorded launches and the stream, by stand-ins for torch.cuda that note what is asked; and room for batches."""

from __future__ import annotations

import contextlib
import itertools
import logging
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import corpus
import pytest
from kernel_device import INTERPRETED, make_interpreter_faster, torch

from lopt_plugin.pipeline import Pipeline, read_pipeline
from lopt_plugin.routes.gpu import cuda_graphs as graphs, streams
from lopt_plugin.routes.gpu.batch import DeviceBatch
from lopt_plugin.routes.gpu.cuda_graphs import Graphs
from lopt_plugin.routes.gpu.route import GpuRoute
from lopt_plugin.routes.native import NativeRoute
from lopt_plugin.routes.request import PLAIN
from lopt_plugin.settings import Settings
from lopt_plugin.triton_kernels.batch.buffers import LEAST_BUCKET, SEPARATOR_SHARE, Batch, Scratch, bucket_of
from lopt_plugin.triton_kernels.common import grids
from lopt_plugin.triton_kernels.common.limits import MAX_BYTES


class FakeRecording:
    """Does at `replay` what was recorded, if it is not refused."""

    def __init__(self, work: Any) -> None:
        self.work = work
        self.refused = False

    def replay(self) -> bool:
        if not self.refused:
            self.work()
        return not self.refused


def test_first_plain_then_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "record", FakeRecording)
    done: list[str] = []
    recorded = Graphs(enabled=True)
    for key in "aaabbac":
        recorded.run(key, lambda key=key: done.append(key))
    assert done == list("aaabbac")
    assert (recorded.direct, recorded.replayed) == (3, 4)
    recorded.clear()
    recorded.run("b", lambda: done.append("b"))
    assert (recorded.direct, recorded.info()["recorded"]) == (4, 0)


def test_recording_that_fails(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(work: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(graphs, "record", refuse)
    done: list[int] = []
    recorded = Graphs(enabled=True)
    with caplog.at_level(logging.WARNING, "lopt_plugin"):
        for number in range(4):
            recorded.run("key", lambda number=number: done.append(number))
    assert done == [0, 1, 2, 3]
    assert len(caplog.records) == 1
    assert "not permitted" in recorded.info()["failure"]


def test_replay_that_is_refused_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[FakeRecording] = []
    monkeypatch.setattr(graphs, "record", lambda work: made.append(FakeRecording(work)) or made[-1])
    done: list[int] = []
    recorded = Graphs(enabled=True)
    for number in range(6):
        if made:
            made[0].refused = number in (3, 4)
        recorded.run("key", lambda: done.append(1))
    assert len(done) == 6
    assert (recorded.direct, recorded.replayed, recorded.failure) == (3, 3, None)


class FakeRuntime(ModuleType):
    """CUDA's bindings; notes in `calls` what is asked, and refuses what is in `refused`."""

    def __init__(self) -> None:
        super().__init__("cuda.bindings.runtime")
        setattr(self, "cudaError_t", SimpleNamespace(cudaSuccess=0))  # noqa: B010 (a name that is not ours)
        setattr(self, "cudaStreamCaptureMode", SimpleNamespace(cudaStreamCaptureModeThreadLocal="this thread"))  # noqa: B010
        self.calls: list[Any] = []
        self.refused: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        values = {
            **{"cudaStreamEndCapture": ("graph",), "cudaGraphInstantiate": ("executable",)},
            "cudaThreadExchangeStreamCaptureMode": ("the mode before",),
        }

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name.removeprefix("cuda"), *arguments))
            of_call = values.get(name, ())
            return (1, *(None for _ in of_call)) if name in self.refused else (0, *of_call)

        if not name.startswith("cuda"):
            raise AttributeError(name)
        return call


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    fake = FakeRuntime()
    bindings = ModuleType("cuda.bindings")
    bindings.runtime = fake  # type: ignore[attr-defined]
    for name, module in (("cuda", ModuleType("cuda")), ("cuda.bindings", bindings), (fake.__name__, fake)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=7))
    return fake


def test_rules_of_recording(runtime: FakeRuntime) -> None:
    """Only this thread is held to them, and a recording is given back when nobody has it any more."""
    recording = graphs.record(lambda: runtime.calls.append("work"))
    begin, end = ("StreamBeginCapture", 7, "this thread"), ("StreamEndCapture", 7)
    assert runtime.calls == [begin, "work", end, ("GraphInstantiate", "graph", 0), ("GraphDestroy", "graph")]
    assert recording.replay()
    runtime.refused.add("cudaGraphLaunch")
    assert not recording.replay()
    del recording
    assert runtime.calls[-2:] == [("GraphLaunch", "executable", 7), ("GraphExecDestroy", "executable")]


def test_recording_that_fails_is_ended(runtime: FakeRuntime) -> None:
    with pytest.raises(ZeroDivisionError):
        graphs.record(lambda: runtime.calls.append(1 // 0))
    assert runtime.calls[1:] == [("StreamEndCapture", 7), ("GraphDestroy", "graph")]
    for name in ("cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate"):
        runtime.refused = {name}
        with pytest.raises(RuntimeError, match="refuses to record"):
            graphs.record(lambda: None)


def test_other_threads_may_record_while_a_batch_is_encoded(
    runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device", contextlib.nullcontext)
    exchanged = "ThreadExchangeStreamCaptureMode"
    batch: Any = SimpleNamespace(device=torch.device("cuda"))
    with pytest.raises(ZeroDivisionError), DeviceBatch.entered(batch):
        runtime.calls.append(1 // 0)
    assert runtime.calls == [(exchanged, "this thread"), (exchanged, "the mode before")]
    runtime.refused = {f"cuda{exchanged}"}
    with DeviceBatch.entered(batch):
        runtime.calls.clear()
    assert runtime.calls == []


def test_grids_are_those_that_the_device_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "_multiprocessors", lambda device: 10)
    device = torch.device("cuda")
    assert [grids.grid_of(1 << 30, 256, device, warps)[0] for warps in (1, 2, 4, 8)] == [320, 320, 160, 80]
    assert [grids.grid_of(most, 256, device)[0] for most in (0, 1, 257, 1 << 13)] == [1, 1, 2, 32]


class FakeCuda:
    """A stream and events that note, in `log`, who waits for what; works are done at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[str, ...]] = []
        self.current = "caller"
        events = iter([f"{name} {lane}" for name in ("done", "taken") for lane in range(streams.LANES)])
        fake = self

        class Stream:
            name = "computing"

            def __init__(self, device: Any) -> None:
                pass

            def wait_event(self, event: Any) -> None:
                fake.log.append((self.name, "waits for", event.name))

            def synchronize(self) -> None:
                fake.log.append(("host", "waits for", self.name))

        class Event:
            def __init__(self) -> None:
                self.name = next(events)

            def record(self) -> None:
                fake.log.append((fake.current, "records", self.name))

            def synchronize(self) -> None:
                fake.log.append(("host", "waits for", self.name))

        @contextlib.contextmanager
        def stream(one: Any) -> Any:
            before, fake.current = fake.current, one.name
            yield
            fake.current = before

        monkeypatch.setattr(torch.cuda, "Stream", Stream)
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "stream", stream)


def test_order_on_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeCuda(monkeypatch)
    on_cuda = streams.CudaStream(torch.device("cpu"))
    source, middle, target = torch.arange(3), torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)
    on_cuda.queue(1, [(middle, source)])
    on_cuda.queue(1, [(target, middle)], lambda: fake.log.append((fake.current, "works")))
    on_cuda.wait(1)
    on_cuda.taken(1)
    assert fake.log == [
        ("computing", "waits for", "taken 1"),
        ("computing", "records", "done 1"),
        ("computing", "waits for", "taken 1"),
        ("computing", "works"),
        ("computing", "records", "done 1"),
        ("host", "waits for", "done 1"),
        ("caller", "records", "taken 1"),
    ]
    assert target.tolist() == [0, 1, 2]
    with on_cuda.current():
        assert fake.current == "computing"
    fake.log.clear()
    on_cuda.wait_for_all()
    assert {entry[2] for entry in fake.log} == {"computing", "taken 0", "taken 1"}


def test_buckets() -> None:
    buckets = {bucket_of(size, 1) for size in range(1, 1 << 17)}
    assert min(buckets) == LEAST_BUCKET
    assert len(buckets) == 1 + 4 * 3
    for size in (1, LEAST_BUCKET + 1, 100_000, 12_345_678, 1 << 26, MAX_BYTES - (1 << 29)):
        assert size <= bucket_of(size, 1) <= max(LEAST_BUCKET, size * 5 / 4)
    assert bucket_of(10, 5000) >= SEPARATOR_SHARE * 5000
    with pytest.raises(ValueError, match="too large"):
        bucket_of(MAX_BYTES, 1)


def test_smaller_bucket_within_larger_buffers() -> None:
    device = torch.device("cpu")
    for made in (Batch.empty(1 << 16, device), Scratch.empty(1 << 16, device, 1024)):
        fresh = type(made).empty(1 << 14, device, *([1024] if isinstance(made, Scratch) else []))
        for name, tensor in vars(made.within(1 << 14)).items():
            if isinstance(tensor, torch.Tensor):
                assert tensor.data_ptr() == vars(made)[name].data_ptr()
                assert len(tensor) >= len(vars(fresh)[name])
    assert Scratch.empty(1 << 16, device, 1024).bytes() + 2 * Batch.empty(1 << 16, device).bytes() < 40 << 16


@pytest.mark.skipif(not INTERPRETED, reason="a stand-in for recordings; test_gpu_real_sizes has those of a GPU")
def test_route_with_recordings_and_growing_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter_faster(monkeypatch)
    monkeypatch.setattr(graphs, "record", FakeRecording)
    tokenizer = corpus.load_tokenizer("tiny_cl100k")
    pipeline = read_pipeline(tokenizer)
    assert isinstance(pipeline, Pipeline)
    route = GpuRoute(pipeline, NativeRoute(pipeline, Settings.read({}, threads=1)), check=False, cache_slots=256)
    route._batch.graphs.enabled = True
    small = ["a few words", "zzxqj " * 30, "=" * 700]
    large = ["more words than before " * 800 + "é" * 300]
    for texts in (small, small, large, small, small, ["b" + text for text in small]):
        ids, offsets = route.encode_batch(texts, PLAIN[False][False])
        expected = [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]
        assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected
    # Larger buffers made the first recording worthless.
    assert (route._batch.graphs.direct, route._batch.graphs.replayed) == (3, 3)
    assert route.texts_on_host == 0
    assert route.info()["table_bytes"]["entries"] > 0
