"""An engine's server as a child process: started, queried over HTTP, and always stopped."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

STARTED_WITHIN_S = 600.0
STOPPED_WITHIN_S = 20.0


class ServerError(RuntimeError):
    """The server exited or did not answer in time; the message contains the end of its log."""


class Answer(NamedTuple):
    """The prompt's ids as the server reports them, the seconds from its arrival to the engine, and the total."""

    prompt_ids: list[int]
    to_engine_s: float
    whole_s: float


class EngineServer:
    """A server as a context manager, at a free loopback `port`, with its output in the file `log`.

    The model's name in requests is "tiny".

    name, module   of the engine: its name, and the module that Python imports
    options        command-line options: tokenizer mode, tokenizer, longest prompt
    own_mode       the mode of its own tokenizer; ours is "lopt"
    for_times      the arguments that make answers include times
    """

    name: ClassVar[str]
    module: ClassVar[str]
    options: ClassVar[tuple[str, str, str]]
    own_mode: ClassVar[str]
    for_times: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        model: str | Path,
        log: Path,
        mode: str,
        *,
        context_length: int | None = None,
        tokenizer: str | None = None,
        arguments: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        """The model and the tokenizer are folders or names on the hub; by default, the tokenizer is the model's own."""
        self.port = free_port()
        self.log = log.resolve()
        # Absolute: the server has another working directory.
        places = [str(Path(name).resolve() if Path(name).exists() else name) for name in (model, tokenizer or model)]
        self.command, own_environment = self._start(places[0], context_length)
        chosen = (mode, None if tokenizer is None else places[1], context_length)
        options = [*zip(self.options, chosen, strict=True), ("--served-model-name", "tiny"), ("--port", self.port)]
        for option, value in [*options, ("--host", "127.0.0.1")]:
            self.command += [] if value is None else [option, str(value)]
        self.command += arguments
        offline = {"HF_HUB_OFFLINE": "1"} if all(map(os.path.exists, places)) else {}
        self.environment = os.environ | offline | own_environment | (environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self, model: str, context_length: int | None) -> tuple[list[str], dict[str, str]]:
        """The command line without the options above, and additional environment variables."""
        raise NotImplementedError

    def answer(self, prompt: str) -> Answer:
        """Generates one token. Raises ServerError."""
        raise NotImplementedError

    def __enter__(self) -> EngineServer:
        # In its own session, so that all of the engine's processes can be stopped and Ctrl-C reaches only this process.
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                # `python -m` adds its working directory to the path; a source tree there would hide what is installed.
                cwd=self.log.parent,
                start_new_session=True,
            )
        try:
            self._wait_until_healthy()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the server and every process that it started."""
        if self._process is not None:
            self._process.terminate()
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(STOPPED_WITHIN_S)
            finally:  # also if a second Ctrl-C ends the wait
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
                self._process = None

    def get(self, path: str) -> str:
        """The body of a GET. Raises OSError if the server does not answer with HTTP 200."""
        with self.request("GET", path, timeout_s=30) as response:
            body = response.read().decode()
            if response.status != 200:
                raise OSError(f"GET {path}: HTTP {response.status}: {body[:500]}")
            return body

    def post(self, path: str, body: dict[str, Any] | bytes) -> tuple[int, Any]:
        """HTTP status and parsed answer of a POST."""
        with self.request("POST", path, body) as response:
            answer = response.read()
            try:
                return response.status, json.loads(answer)
            except ValueError:
                return response.status, answer.decode(errors="replace")

    def ask(self, path: str, body: dict[str, Any]) -> tuple[Any, float]:
        """The answer to a POST, and its seconds. Raises ServerError for anything but HTTP 200."""
        start = time.perf_counter()
        try:
            status, answer = self.post(path, body)
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"the server did not answer ({error!r}); its log is {self.log}") from error
        seconds = time.perf_counter() - start
        if status != 200:
            raise ServerError(f"{path}: HTTP {status}: {str(answer)[:500]}; the server's log is {self.log}")
        return answer, seconds

    def metric(self, name: str) -> float:
        """The sum of a Prometheus metric's values over its labels; 0 if there is none."""
        values = re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", self.get("/metrics"), re.MULTILINE)
        return sum(map(float, values))

    def cpu_seconds(self) -> float:
        """CPU time of the server's first process so far. Linux only."""
        assert self._process is not None
        return time.clock_gettime((~self._process.pid << 3) | 2)  # what clock_getcpuclockid gives for a process

    def log_lines(self, containing: str) -> list[str]:
        """The lines of the log that contain this string."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if containing in line]

    @contextlib.contextmanager
    def request(
        self, method: str, path: str, body: dict[str, Any] | bytes | None = None, timeout_s: float = 600.0
    ) -> Iterator[http.client.HTTPResponse]:
        """The response to a request. A dict is sent as JSON, bytes as they are."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        try:
            connection.request(method, path, data, {} if data is None else {"Content-Type": "application/json"})
            yield connection.getresponse()
        finally:
            connection.close()

    def _wait_until_healthy(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + STARTED_WITHIN_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerError(f"the server exited with {self._process.returncode}; {self._end_of_log()}")
            try:
                self.get("/health")
                return
            except OSError:
                time.sleep(0.5)
        raise ServerError(f"the server did not answer within {STARTED_WITHIN_S:.0f} s; {self._end_of_log()}")

    def _end_of_log(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-40:]
        return f"the end of {self.log}:\n" + "\n".join(lines)


def free_port() -> int:
    """A free loopback port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP raise KeyboardInterrupt, so that the server is stopped too. Main thread only."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
