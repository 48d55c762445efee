"""Items of `make gpu-check` that say whether the route is right on a device, and how long it takes to be there."""

from __future__ import annotations

import argparse
import functools
import platform
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.data import REPOSITORY, whole_text
from benchmarks.common.report import Table
from benchmarks.gpu.routes import Routes, texts_of, utf8_bytes
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
    for name in given.tokenizers:
        routes, rows = routes_of(name), []
        for corpus in given.corpora:
            text = whole_text(corpus)[0]
            for number, (shape, chars) in enumerate(SHAPES.items()):
                begin = number * share % max(1, len(text) - share)
                batch = _batch(text[begin : begin + share], chars, uneven=" to " in shape)
                routes.compare(batch)
                rows.append([corpus, shape, f"{len(batch):,}", f"{utf8_bytes(batch):,}"])
        on_device = f"{routes.gpu.texts_on_device:,} texts on the device, {routes.gpu.texts_on_host:,} on the host"
        yield Table(["texts", "batch", "rows", "bytes, ids equal"], rows, f"{name}: equality", 2, [on_device])


def _batch(text: str, chars: int | None, *, uneven: bool) -> list[str]:
    if chars is None:
        return [text]
    if not uneven:
        return [text[begin : begin + chars] for begin in range(0, len(text), chars)]
    ends = np.random.default_rng(0).integers(0, chars, 2 * len(text) // chars + 1).cumsum().tolist()
    return ["", *(text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)), ""]


def starts(given: argparse.Namespace) -> Iterator[Table]:
    """A process from nothing to its first ids, with an empty Triton cache and with the one it left there."""
    rows = []
    for name in given.tokenizers[:2]:
        with tempfile.TemporaryDirectory() as cache:
            for kind in ("cold", "warm"):
                command = [sys.executable, str(Path(__file__).with_name("start.py")), name, cache]
                done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=REPOSITORY, check=False)
                if done.returncode:
                    raise RuntimeError(done.stderr[-2000:])
                rows.append([name, kind, *done.stdout.split()])
    yield Table(["tokenizer", "Triton's cache", "route, s", "first batch, s", "second, s"], rows, "Starts", 2)


def training(given: argparse.Namespace) -> Iterator[Table]:
    """A model with dropout trains the same whether or not batches are encoded, and recorded, beside it."""
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
    for _ in range(5 if quick else 5000):
        optimizer.zero_grad()
        model(torch.randn(128, 64, device=device)).square().mean().backward()
        optimizer.step()
    return torch.cat([parameter.detach().flatten().cpu() for parameter in model.parameters()])


def sanitizers() -> Iterator[Table]:
    """compute-sanitizer over a small batch: accesses beside the buffers, and races in shared memory."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", SANITIZER_TESTS]
    command += ["-k", "memcheck or racecheck"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=REPOSITORY, check=False)
    last = done.stdout.strip().splitlines()[-1:]
    if done.returncode not in (0, 5) or not re.search(r"passed|skipped", "".join(last)):
        raise RuntimeError((done.stdout + done.stderr)[-3000:])
    yield Table(["what pytest says"], [[*last]], "memcheck and racecheck")
