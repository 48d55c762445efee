"""Milliseconds from sending a long prompt over HTTP until vLLM's engine has it: with lopt, without, and stubbed out.

    python benchmarks/engines/vllm_over_http.py

Run where vLLM is installed. The real servers run at once, and each document goes to each of them, in alternating order,
after a warm-up on other documents. "free" is vLLM's own renderer over a tokenizer that has stored the ids of that
prompt; the other servers see no document twice. The measurement ends when the scheduler of the engine's process gets
the request, which it then drops, so nothing is computed. Its ids are compared with the Hugging Face tokenizer's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.engines import documents
from benchmarks.engines.vllm_arrivals import FREE_VARIABLE, SOCKET_VARIABLE, digest
from lopt_plugin.cli.serving.server import interrupted_by_signals
from lopt_plugin.cli.serving.vllm_server import VllmServer

WARM_UP = 2
# Mode and environment of each.
SERVERS = {
    "hf": ("hf", {"LOPT_ACCELERATE": "0"}),
    "free": ("lopt", {"LOPT_RENDERER": "0", FREE_VARIABLE: "1"}),
    "lopt": ("lopt", {}),
}


def main(folder: Path) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chars", type=int, default=450_000, help="of a prompt")
    parser.add_argument("--repetitions", type=int, default=6)
    arguments = parser.parse_args()
    texts = documents.long_prompts(arguments.repetitions + WARM_UP, arguments.chars)
    times: dict[str, list[float]] = {name: [] for name in SERVERS}
    path = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH"))))
    common = {SOCKET_VARIABLE: str(folder / "arrivals"), "PYTHONPATH": path}
    chosen = {name: (mode, common | environment) for name, (mode, environment) in SERVERS.items()}
    options = ("--scheduler-cls", "vllm_arrivals.Arrivals", "--no-async-scheduling", "--middleware")
    with contextlib.ExitStack() as stack:
        stack.enter_context(interrupted_by_signals())
        arrivals = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        arrivals.bind(common[SOCKET_VARIABLE])
        arrivals.settimeout(120)
        served = documents.served(VllmServer, folder, chosen, *options, "vllm_arrivals.Nothing")
        oracle, servers = stack.enter_context(served)
        for turn, document in enumerate(texts):
            expected = digest(oracle(document)["input_ids"])
            for name in sorted(servers, reverse=turn % 2 == 1):
                # "free" tokenizes at the first request, and looks up at the second.
                seconds = [send(servers[name], document, expected, arrivals) for _ in range(1 + (name == "free"))]
                if turn >= WARM_UP:
                    times[name].append(seconds[-1])
    documents.print_times(times)


def send(server: VllmServer, document: str, expected: str, arrivals: socket.socket) -> float:
    """Seconds until the engine has the document. Raises SystemExit where it got other ids."""
    message = documents.post("/v1/completions", {"model": "tiny", "prompt": document, "max_tokens": 1})
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        start = time.monotonic()
        connection.sendall(message)
        arrival: dict[str, Any] = json.loads(arrivals.recv(1000))
    if arrival["digest"] != expected:
        raise SystemExit("other ids than Hugging Face's")
    # Time for the server to notice that nobody is waiting any more.
    time.sleep(0.1)
    return float(arrival["seconds"]) - start


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
