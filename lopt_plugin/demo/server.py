"""An engine's server as a child process: started, waited for, asked over HTTP, and always stopped."""

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
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

STARTED_WITHIN_S = 600.0
STOPPED_WITHIN_S = 20.0


class ServerError(RuntimeError):
    """The server ended or did not answer in time; the message shows the end of its log."""


class EngineServer:
    """A server's `command` as a context manager, reached at a loopback `port`; what it prints goes to `log`.

    `environment` is added to that of this process.
    """

    def __init__(self, command: list[str], port: int, log: Path, environment: dict[str, str]) -> None:
        self.command = command
        self.port = port
        self.log = log.resolve()
        self.environment = os.environ | environment
        self._process: subprocess.Popen[bytes] | None = None
        self._log_file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._log_file = self.log.open("wb")
        # A session of its own, so that the engine's processes can be stopped with it and Ctrl-C reaches us alone.
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=self._log_file,
            stderr=subprocess.STDOUT,
            env=self.environment,
            # `python -m` puts its working directory on the path, and a source tree there would hide what is installed.
            cwd=self.log.parent,
            start_new_session=True,
        )
        try:
            self._wait_until_healthy()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the server and every process it started."""
        if self._process is not None:
            self._process.terminate()
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(STOPPED_WITHIN_S)
            finally:  # also where a second Ctrl-C ends the wait
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
                self._process = None
        if self._log_file is not None:
            self._log_file.close()
            self._log_file = None

    def get(self, path: str) -> str:
        """The body of a GET. Raises OSError if nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read().decode()
            if response.status != 200:
                raise OSError(f"GET {path}: HTTP {response.status}: {body[:500]}")
            return body
        finally:
            connection.close()

    def post(self, path: str, body: dict[str, Any] | bytes, timeout_s: float = 600.0) -> tuple[int, Any]:
        """HTTP status and parsed answer of a POST. `body` goes out as JSON, or as the bytes that it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request("POST", path, _encoded(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            try:
                return response.status, json.loads(answer)
            except ValueError:
                return response.status, answer.decode(errors="replace")
        finally:
            connection.close()

    def stream(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The server-sent events of a POST with "stream": true, until [DONE]. Raises OSError for an HTTP error."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            connection.request("POST", path, _encoded(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(f"POST {path}: HTTP {response.status}: {response.read()[:500]!r}")
            for line in response:
                event = line.decode().strip().removeprefix("data: ")
                if event == "[DONE]":
                    return
                if event:
                    yield json.loads(event)
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        """The sum of a Prometheus metric's values over its labels, 0 if there is none."""
        values = re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", self.get("/metrics"), re.MULTILINE)
        return sum(map(float, values))

    def log_lines(self, containing: str) -> list[str]:
        """Lines of the log with that string."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if containing in line]

    def _wait_until_healthy(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + STARTED_WITHIN_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerError(f"the server ended with {self._process.returncode}; {self._end_of_log()}")
            try:
                self.get("/health")
                return
            except OSError:
                time.sleep(0.5)
        raise ServerError(f"no answer within {STARTED_WITHIN_S:.0f} s; {self._end_of_log()}")

    def _end_of_log(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-40:]
        return f"the end of {self.log}:\n" + "\n".join(lines)


def _encoded(body: dict[str, Any] | bytes) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def free_port() -> int:
    """A loopback port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
