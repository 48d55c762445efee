"""Items of `make gpu-check` that say whether the route is right on a device, and how long it takes to be there."""

from __future__ import annotations

import argparse
import functools
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.data import REPOSITORY, utf8_bytes, whole_text
from benchmarks.common.report import Table
from benchmarks.gpu.routes import Routes, WrongIdsError, texts_of
from lopt_plugin.routes.gpu.device import find_device, interpreted
from lopt_plugin.routes.request import PLAIN

PACKAGES = ("torch", "triton", "tokenizers", "transformers", "numpy", "cuda-bindings", "tiktoken")
# Characters of a text in a batch; None: all of it in one text.
SHAPES = {"one text": None, "texts of 20,000": 20_000, "of 1,000": 1000, "of 40": 40, "of 0 to 5,000": 5000}
SANITIZER_TESTS = "tests/gpu_kernels/test_gpu_sanitizer.py"

routes_of = functools.cache(lambda name: Routes(name, []))


def versions() -> Iterator[Table]:
    """What this is measured with."""
    rows = [["Python", platform.python_version()]]
    for package in PACKAGES:
        try:
            rows.append([package, metadata.version(package)])
        except metadata.PackageNotFoundError:
            rows.append([package, "-"])
    rows.append(["device", str(find_device())])
    if not interpreted():
        import torch

        properties = torch.cuda.get_device_properties(find_device())
        rows += [["GPU", properties.name], ["memory, GB", f"{properties.total_memory / 1e9:.0f}"]]
        rows.append(["CUDA", str(torch.version.cuda)])
    yield Table(["what", "version"], rows, "Versions", 2)


def equality(given: argparse.Namespace) -> Iterator[Table]:
    """Ids of the GPU route, to the host and left on the device, against the reference's, in batches of every shape."""
    share = round(given.megabytes * 1e6 / len(given.tokenizers) / len(given.corpora) / len(SHAPES))
    wrong = 0
    for name in given.tokenizers:
        routes, rows = routes_of(name), []
        for corpus in given.corpora:
            text = whole_text(corpus)[0]
            for number, (shape, chars) in enumerate(SHAPES.items()):
                begin = number * share % max(1, len(text) - share)
                batch = _batch(text[begin : begin + share], chars, uneven=" to " in shape)
                try:
                    routes.compare(batch)
                    outcome = "equal"
                except WrongIdsError as error:
                    outcome, wrong = str(error), wrong + 1
                rows.append([corpus, shape, outcome, f"{len(batch):,}", f"{utf8_bytes(batch):,}"])
        on_device = f"{routes.gpu.texts_on_device:,} texts on the device, {routes.gpu.texts_on_host:,} on the host"
        yield Table(["texts", "batch", "ids", "rows", "bytes"], rows, f"{name}: equality", 3, [on_device])
    if wrong:
        raise WrongIdsError(f"{wrong} batches have other ids")


def _batch(text: str, chars: int | None, *, uneven: bool) -> list[str]:
    if chars is None:
        return [text]
    if not uneven:
        return [text[begin : begin + chars] for begin in range(0, len(text), chars)]
    ends = np.random.default_rng(0).integers(0, chars, 2 * len(text) // chars + 1).cumsum().tolist()
    return ["", *(text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)), ""]


def starts(given: argparse.Namespace) -> Iterator[Table]:
    """A process from nothing to its first ids: for all tokenizers at once with an empty cache, then one by one."""
    shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
    script = str(Path(__file__).with_name("start.py"))
    with ThreadPoolExecutor(len(given.tokenizers)) as threads:
        cold = [*threads.map(lambda name: output_of([sys.executable, script, name], given), given.tokenizers)]
    rows = [[name, "empty", *taken.split()] for name, taken in zip(given.tokenizers, cold, strict=True)]
    for name in given.tokenizers[:2]:
        rows.append([name, "filled", *output_of([sys.executable, script, name], given).split()])
    yield Table(["tokenizer", "Triton's cache", "route, s", "first batch, s", "second, s"], rows, "Starts", 2)


def output_of(command: Sequence[str], given: argparse.Namespace, *, fails: bool = False) -> str:
    """What a process prints, which is ended with all its children when no time is left. fails: whether it may fail."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, start_new_session=True
    )
    try:
        printed, problems = process.communicate(timeout=max(1, given.deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, problems = process.communicate()
        raise TimeoutError(f"no time left: {(printed + problems)[-2000:]}") from None
    if process.returncode and not fails:
        raise RuntimeError((printed + problems)[-3000:])
    return printed


def training(given: argparse.Namespace) -> Iterator[Table]:
    """A model with dropout trains, and is recorded, the same whether or not batches are encoded beside it."""
    import torch

    routes = routes_of(given.tokenizers[0])
    texts = texts_of(given.corpora[0], given.corpora, given.bytes // 8)
    expected = routes.hf.encode_batch(texts, PLAIN[False][False])
    alone, ended, batches, wrong = _trained(given.quick), threading.Event(), [0], [0]

    def encode() -> None:
        while not ended.is_set():
            part = texts[: 1 + batches[0] % len(texts)]  # of many sizes: some are recorded anew
            ids, offsets = routes.gpu.encode_batch(part, PLAIN[False][False])
            same = np.array_equal(offsets, expected[1][: len(part) + 1]) and np.array_equal(
                ids, expected[0][: offsets[-1]]
            )
            wrong[0] += not same
            batches[0] += 1

    thread = threading.Thread(target=encode)
    thread.start()
    try:
        beside = _trained(given.quick)
    finally:
        ended.set()
        thread.join()
    if wrong[0] or routes.gpu.failure or not torch.equal(alone, beside):
        raise RuntimeError(f"{wrong[0]} wrong batches; {routes.gpu.failure}; same model: {torch.equal(alone, beside)}")
    yield Table(["batches beside it", "wrong", "same model"], [[str(batches[0]), "0", "yes"]], "A model that trains")


def _trained(quick: bool) -> Any:
    """The parameters of a small model after its training."""
    import torch

    device = find_device()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Dropout(0.5), torch.nn.Linear(256, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(5 if quick else 5000):
        if device.type == "cuda" and step % 500 == 100:
            _record(model, torch.zeros(128, 64, device=device))
        optimizer.zero_grad()
        model(torch.randn(128, 64, device=device)).square().mean().backward()
        optimizer.step()
    return torch.cat([parameter.detach().flatten().cpu() for parameter in model.parameters()])


def _record(model: Any, inputs: Any) -> None:
    """As engines record a model; torch's recording refuses what other threads do to the device meanwhile."""
    import torch

    graph = torch.cuda.CUDAGraph()
    model.eval()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(inputs)
    model.train()
    graph.replay()


def sanitizers(given: argparse.Namespace) -> Iterator[Table]:
    """compute-sanitizer over a small batch: accesses beside the buffers, and races in shared memory."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", SANITIZER_TESTS]
    printed = output_of([*command, "-k", "memcheck or racecheck"], given, fails=True)
    last = printed.strip().rpartition("\n")[2]
    if not re.search(r"\d (passed|skipped)", last) or re.search("failed|error", last):
        raise RuntimeError(printed[-3000:])
    yield Table(["what pytest says"], [[last]], "memcheck and racecheck")
