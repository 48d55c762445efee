"""Milliseconds from sending prompts over HTTP until SGLang's scheduler gets them: with lopt, without, and stubbed out.

    python benchmarks/engines/sglang_to_engine.py

Run where SGLang is installed; written for 0.5.23. SGLang's own HTTP application and TokenizerManager run in this
process. Instead of the scheduler, a stand-in process takes the requests, which ends the measurement, and nothing is
computed; with --polls it never sleeps, like a scheduler without `--sleep-on-idle`. "free" is SGLang without our hooks,
with a tokenizer that looks up stored ids (tokenization stubbed out). Every document is new to all others; every id is
compared with the Hugging Face tokenizer's. Each timed request follows one with another document and the same tokenizer,
as in a server that has only that tokenizer.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import MethodType
from typing import Any

os.environ |= {"SGLANG_USE_CPU_ENGINE": "1", "HF_HUB_OFFLINE": "1"}
sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.engines import documents
from lopt_plugin.cli.serving.server import free_port
from lopt_plugin.cli.serving.tiny_model import MAX_MODEL_LEN

WARM_UP = 3
WAITS_S = 300.0

Ids = list[list[int]]


def main() -> None:
    parser = documents.parser(__doc__, many=256, repetitions=10)
    parser.add_argument("--polls", action="store_true", help="what stands in for the scheduler takes a core of its own")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Server(documents.build_model(Path(folder)), arguments.polls).run(lambda server: measure_all(server, arguments))


def receive(socket_name: str, polls: bool, results: Any) -> None:
    """A process: takes as many requests as `results` asks for; sends back when the last one came, and all ids."""
    import zmq
    from sglang.srt.managers.io_struct import sock_recv
    from sglang.srt.utils.network import get_zmq_socket

    scheduler_end = get_zmq_socket(zmq.Context(1), zmq.PULL, socket_name, False)
    results.send("ready")
    while True:
        count = results.recv()
        requests: list[Any] = []
        while len(requests) < count:
            try:
                received = sock_recv(scheduler_end, zmq.NOBLOCK if polls else 0)
            except zmq.Again:
                continue
            arrived = time.perf_counter()
            requests += getattr(received, "batch", None) or [received]
        results.send((arrived, [request.input_ids for request in requests]))


class Server:
    """SGLang's HTTP server, with `receive` for a scheduler."""

    def __init__(self, model: Path, polls: bool) -> None:
        import uvicorn
        from sglang.srt.entrypoints import http_server
        from sglang.srt.entrypoints.engine import init_tokenizer_manager
        from sglang.srt.runtime_context import publish
        from sglang.srt.server_args import PortArgs, ServerArgs

        from lopt_plugin.engines.sglang import tokenizer_backend

        self.model = str(model)
        arguments = ServerArgs(
            model_path=self.model,
            tokenizer_backend=tokenizer_backend(),
            device="cpu",
            attention_backend="torch_native",
            context_length=MAX_MODEL_LEN,
            log_level="error",
        )
        arguments.resolve_once()
        arguments.check_server_args()
        publish(arguments, role="tokenizer")
        ports = PortArgs.init_new(arguments)
        self.manager, templates = init_tokenizer_manager(arguments, ports)
        self.manager.max_req_input_len = MAX_MODEL_LEN
        self.manager._wait_one_response = self._made_up_answer
        http_server.set_global_state(http_server._GlobalState(self.manager, templates, {}))
        self.port = free_port()
        config = uvicorn.Config(http_server.app, port=self.port, lifespan="off", log_level="error", loop="uvloop")
        self._http = uvicorn.Server(config)
        context = multiprocessing.get_context("spawn")
        self._results, theirs = context.Pipe()
        process = context.Process(target=receive, args=(ports.scheduler_input_ipc_name, polls, theirs), daemon=True)
        process.start()

    def run(self, work: Callable[[Server], None]) -> None:
        """Serves in the main thread, as SGLang expects, while `work` runs in another one."""
        failed: list[BaseException] = []

        def working() -> None:
            try:
                while not self._http.started:
                    time.sleep(0.05)
                self._result()
                work(self)
            except BaseException as error:
                failed.append(error)
            self._http.should_exit = True

        worker = threading.Thread(target=working, daemon=True)
        worker.start()
        self._http.run()
        worker.join(WAITS_S)
        if failed:
            raise failed[0]

    def _result(self) -> Any:
        if not self._results.poll(WAITS_S):
            raise SystemExit("nothing came to the scheduler")
        return self._results.recv()

    def use(self, tokenizer: Any) -> None:
        """That tokenizer from now on, with our hooks if it is ours."""
        self.manager.tokenizer = tokenizer
        for name in ("_handle_batch_request", "_tokenize_texts", "_create_tokenized_object"):
            hooked = getattr(type(self.manager), name)
            method = hooked if hasattr(tokenizer, "lopt") else hooked.__wrapped__
            setattr(self.manager, name, MethodType(method, self.manager))

    async def _made_up_answer(self, request: Any, _: Any) -> AsyncIterator[dict[str, Any]]:
        self.manager.rid_to_state.pop(request.rid, None)
        yield {"text": "", "meta_info": {"id": request.rid}}

    def send(self, texts: list[str]) -> tuple[float, float, Ids]:
        """Seconds until the scheduler has the last of the texts, which are one request; CPU seconds here; all ids."""
        text = texts[0] if len(texts) == 1 else texts
        body = {"text": text, "sampling_params": {"max_new_tokens": 1}}
        message = documents.post("/generate", body, "Connection: close")
        self._results.send(len(texts))
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAITS_S) as connection:
            start, cpu = time.perf_counter(), time.process_time()
            connection.sendall(message)
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
            cpu = time.process_time() - cpu
        if not answer.startswith(b"HTTP/1.1 200"):
            raise SystemExit(answer[:1000].decode(errors="replace"))
        arrived, ids = self._result()
        return arrived - start, cpu, [row.tolist() for row in ids]


def measure_all(server: Server, arguments: argparse.Namespace) -> None:
    """Prints the times of one long prompt, and of a list of short ones."""
    count = arguments.repetitions + WARM_UP
    long = documents.long_prompts(count, arguments.long)
    memory: dict[str, list[int]] = {}
    tokenizers = variants(server.model, memory)
    print(f"\none long prompt: {len(long[0]):,} characters")
    measure(server, tokenizers, memory, [[text] for text in long])
    lists = documents.short_lists(count, arguments.many, arguments.short)
    for in_one_call in (False, True):
        # As `--enable-tokenizer-batch-encode` says.
        server.manager._should_use_batch_tokenization = lambda *_, answer=in_one_call: answer
        how = "as one batch" if in_one_call else "one by one"
        print(f"\n{arguments.many} prompts of {arguments.short:,} characters in one request, tokenized {how}")
        measure(server, tokenizers, memory, lists)


def measure(server: Server, tokenizers: dict[str, Any], memory: dict[str, list[int]], lists: list[list[str]]) -> None:
    """Each tokenizer gets each list once, in alternating order; the first lists warm up."""
    times: dict[str, list[list[float]]] = {name: [] for name in tokenizers}
    before = lists[-1]
    memory |= dict(zip(before, tokenizers["hf"](before)["input_ids"], strict=True))
    for turn, texts in enumerate(lists):
        expected: Ids = tokenizers["hf"](texts)["input_ids"]
        memory |= dict(zip(texts, expected, strict=True))
        for name in sorted(tokenizers, reverse=turn % 2 == 1):
            server.use(tokenizers[name])
            server.send(before)
            *seconds, ids = server.send(texts)
            if ids != expected:
                raise SystemExit(f"{name}: other ids than Hugging Face's")
            if turn >= WARM_UP:
                times[name].append(seconds)
        for text in set(before) - set(texts):
            del memory[text]
        before = texts
    memory.clear()
    for name, pairs in times.items():
        (wall, cpu), (free_wall, free_cpu) = (list(zip(*seconds, strict=True)) for seconds in (pairs, times["free"]))
        middle = statistics.median(wall)
        print(
            f"  {name:5} median {1000 * middle:8.1f} ms, {median_ratio(wall, free_wall):5.2f} times free; "
            f"least {1000 * min(wall):8.1f} ms, {min(wall) / min(free_wall):5.2f} times free; "
            f"CPU {median_ratio(cpu, free_cpu):5.2f} times free"
        )


def median_ratio(ours: Sequence[float], others: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(ours, others, strict=True))


def variants(model: str, memory: dict[str, list[int]]) -> dict[str, Any]:
    """Tokenizers by name, as SGLang loads them."""
    from sglang.srt.utils.hf_transformers.tokenizer import get_tokenizer

    hugging_face, free = (get_tokenizer(model, tokenizer_backend="huggingface") for _ in range(2))
    documents.look_up(free, memory)
    lopt = get_tokenizer(model, tokenizer_backend="lopt")
    if lopt.lopt.explain()["route"] != "native":
        raise SystemExit(lopt.lopt.explain()["reason"])
    return {"hf": hugging_face, "free": free, "lopt": lopt}


if __name__ == "__main__":
    main()
