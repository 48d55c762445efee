"""Inter-token latency of many streams of vLLM's server, and detokenization's share, natively and by Hugging Face.

    python benchmarks/engines/vllm_streams.py

Run where vLLM is installed. Both servers have `--tokenizer-mode lopt` and run at once, and one of them works at a time;
in "hf", LOPT_DECODE=0. All streams begin together, from prompts of ids. The latency is the time between two parts of a
stream, as the client sees it; the CPU time is that of the API server's process, which detokenizes and writes HTTP. The
client is one thread of the same machine. Each part of each stream is compared with Hugging Face's.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import selectors
import socket
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.common.data import whole_text
from benchmarks.common.result import Result, progress, turned
from benchmarks.common.script import Bench, Options, run
from benchmarks.engines import documents
from lopt_plugin.cli.serving.vllm_server import VllmServer

ABOUT = """\
`vllm serve` with a tiny model and Qwen3's tokenizer: {streams} streams at once of {tokens} tokens each, sampled, from
prompts of {prompt_ids} ids; {repeat} repetitions, medians. Both servers are in mode lopt; "hf" has LOPT_DECODE=0.
Detokenization is vLLM's own incremental detokenizer over the same ids, in one thread of another process."""
SERVERS = {"hf": ("lopt", {"LOPT_DECODE": "0"}), "lopt": ("lopt", {})}
COLUMNS = {
    "median_ms": "between two parts, median, ms",
    "p99_ms": "99th percentile, ms",
    "tokens": "tokens a second",
    "cpu_us": "CPU of the API server, µs a token",
    "detokenizing_us": "detokenizing, µs a token",
}


def measure(bench: Bench) -> list[Result]:
    """Both servers, in turned order."""
    import lopt_plugin

    given = bench.given
    results = {name: Result(name, {"streams": given.streams}) for name in SERVERS}
    options = ("--disable-uvicorn-access-log", "--max-num-seqs", str(given.streams))
    served = documents.served(VllmServer, bench.processes.folder, SERVERS, *options, context_length=4096)
    with served as (reference, running):
        decoders = {name: lopt_plugin.accelerate(reference, decode=name == "lopt") for name in SERVERS}
        for decoder in decoders.values():
            decoder.lopt.decode_ids([])  # the table is built now
        text, remark = whole_text(given.corpus)
        ids = reference.encode(text[: 10 * given.streams * given.prompt_ids], add_special_tokens=False)
        prompts = [ids[n * given.prompt_ids :][: given.prompt_ids] for n in range(given.streams)]
        for name, each in running.items():
            progress(f"{name}: warm-up")
            streams(each, prompts, 4)
        for repetition in range(given.repeat):
            for name in turned(list(SERVERS), repetition):
                progress(f"{name}, repetition {repetition + 1}")
                repeat(results[name], running[name], prompts, given.tokens, decoders[name])
    found = list(results.values())
    title, share = f"{given.streams} streams at once", ("its share of that CPU time", 1)
    bench.add(documents.table(title, "decoded by", COLUMNS, share, found, remark))
    return found


def repeat(result: Result, running: VllmServer, prompts: list[list[int]], tokens: int, tokenizer: Any) -> None:
    """Adds a repetition to the result; where texts differ, it gets a problem instead."""
    if result.problem:
        return
    cpu_before, start = running.cpu_seconds(), time.perf_counter()
    times, bodies = streams(running, prompts, tokens)
    seconds, cpu_seconds = time.perf_counter() - start, running.cpu_seconds() - cpu_before
    parts = [parts_of(body) for body in bodies]
    detokenizing, expected = detokenized(tokenizer, prompts, [[ids for ids, _ in stream] for stream in parts])
    if [[text for _, text in stream] for stream in parts] != expected:
        result.problem, result.is_error, result.samples = "texts differ", True, {}
        return
    count = sum(len(ids) for stream in parts for ids, _ in stream)
    gaps = sorted(later - earlier for stream in times for earlier, later in itertools.pairwise(stream))
    result.add(
        {
            "median_ms": 1e3 * statistics.median(gaps),
            "p99_ms": 1e3 * gaps[len(gaps) * 99 // 100],
            "tokens": count / seconds,
            "cpu_us": 1e6 * cpu_seconds / count,
            "detokenizing_us": 1e6 * detokenizing / count,
            "share": detokenizing / cpu_seconds,
        }
    )


def streams(running: VllmServer, prompts: list[list[int]], tokens: int) -> tuple[list[list[float]], list[bytes]]:
    """When parts of each answer came, and the bytes of the whole answer."""
    times: list[list[float]] = [[] for _ in prompts]
    bodies = [bytearray() for _ in prompts]
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=600)) for _ in prompts
        ]
        for index, (connection, prompt) in enumerate(zip(connections, prompts, strict=True)):
            connection.sendall(request(prompt, tokens))
            selector.register(connection, selectors.EVENT_READ, index)
        left = len(prompts)
        while left:
            for key, _ in selector.select(600):
                received = connections[key.data].recv(1 << 16)
                if not received:
                    selector.unregister(key.fileobj)
                    left -= 1
                elif b"data: {" in received:
                    times[key.data].append(time.perf_counter())
                bodies[key.data] += received
    return times, list(map(bytes, bodies))


def request(prompt: list[int], tokens: int) -> bytes:
    """A request for a stream, whose connection ends with the answer."""
    # Without a seed: vLLM 0.32 on the CPU ends with "CPU Generator does not use offset" if many requests have one.
    body: dict[str, Any] = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "ignore_eos": True}
    body |= {"temperature": 1, "stream": True, "return_token_ids": True}
    return documents.post("/v1/completions", body, "Connection: close")


def parts_of(body: bytes) -> list[tuple[list[int], str]]:
    """The ids and the text of each part of an answer."""
    lines = [line for line in body.split(b"\n") if line.startswith(b"data: {")]
    choices = [choice for line in lines for choice in json.loads(line[6:])["choices"]]
    return [(choice["token_ids"], choice["text"]) for choice in choices if choice["token_ids"]]


def detokenized(
    tokenizer: Any, prompts: list[list[int]], streams: Sequence[Sequence[list[int]]]
) -> tuple[float, list[list[str]]]:
    """CPU seconds of vLLM's detokenizer for these ids, by turns as in the server; Hugging Face's text of each part."""
    from tokenizers.decoders import DecodeStream
    from vllm import SamplingParams
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer

    from lopt_plugin.engines.vllm.detokenizer import decode_natively

    init = decode_natively(FastIncrementalDetokenizer.__init__)
    made = [FastIncrementalDetokenizer.__new__(FastIncrementalDetokenizer) for _ in prompts]
    start = time.thread_time()
    for detokenizer, prompt in zip(made, prompts, strict=True):
        params = SamplingParams(ignore_eos=True)
        init(detokenizer, tokenizer, SimpleNamespace(request_id="", prompt_token_ids=prompt, sampling_params=params))
    for turn in range(max(map(len, streams))):
        for detokenizer, stream in zip(made, streams, strict=True):
            if turn < len(stream):
                detokenizer.update(stream[turn], False)
                detokenizer.get_next_output_text(turn == len(stream) - 1, True)
    seconds = time.thread_time() - start
    backend = tokenizer.backend_tokenizer
    expected = []
    for prompt, stream in zip(prompts, streams, strict=True):
        step = DecodeStream(ids=prompt, skip_special_tokens=True).step
        expected.append(["".join(step(backend, number) or "" for number in ids) for ids in stream])
    return seconds, expected


if __name__ == "__main__":
    made = Options(__doc__)
    made.add("--streams", 256, "at once", 8)
    made.add("--tokens", 64, "of a stream", 8)
    made.add("--prompt-ids", 200, "of a prompt")
    made.add("--repeat", 5, "repetitions", 1)
    made.add("--corpus", documents.CORPUS, "name or path")
    sys.exit(run(made.read(), "vllm_streams", "Streams of vLLM's server", ABOUT, measure))
