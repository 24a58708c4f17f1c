"""The inference process: started on first use, stopped after a long idle time."""

import atexit
import http.client
import json
import logging
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agent.errors import ContextTooLong, ModelRefused, ModelUnavailable
from agent.models.builtin.install import Parts
from agent.models.builtin.queue import Places
from agent.util.cancellation import Stop

IDLE = 600.0
"""Seconds without a request after which the process, which takes 0.3 GB, is stopped."""

_PATIENCE = 300.0
_LOOK = 0.05
_ROOT = Path(__file__).resolve().parents[3]
_log = logging.getLogger(__name__)


class Engine:
    """llama.cpp in a separate process, on a Unix socket in a private folder.

    Safe for use by several threads; a thread must take a ``place`` before it asks for an answer.

    Args:
        parts: Paths of the model's files.
        idle: Seconds without a request after which the process is stopped.
    """

    def __init__(self, parts: Parts, idle: float = IDLE) -> None:
        self._parts = parts
        self._idle = idle
        self._places = Places()
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._used = 0.0

    @property
    def taken(self) -> bool:
        """Whether a new request has to wait for others."""
        return len(self._places) > 0

    @property
    def process(self) -> int | None:
        """The process id; None if the process is not running."""
        server = self._server
        return server.process if server else None

    @contextmanager
    def place(self, stop: Stop) -> Iterator[bool]:
        """Reserve the model for one conversation; yield False if stopped first."""
        with self._places.place(stop) as mine:
            yield mine

    def load(self, stop: Stop) -> bool:
        """Start the process and wait until it is ready; return False if stopped first.

        Raises:
            ModelRefused: the process cannot be started.
        """
        return self._loaded(self._awakened(), stop)

    def ask(self, what: str, question: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
        """Send a request to the process, starting it if it is not running.

        Args:
            what: A path of llama.cpp's server, such as ``/tokenize``.
            question: The request body, sent as JSON.
            stop: Ends the wait immediately.

        Returns:
            The response body; empty if stopped.

        Raises:
            ContextTooLong: the token ids exceed the context.
            ModelRefused: the process cannot be started, or rejects the request.
            ModelUnavailable: the process ended; the next request starts another.
        """
        server = self._awakened()
        try:
            if not self._loaded(server, stop):
                return {}
            return server.ask(what, question, stop)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if stop.is_set:
                return {}
            self._end(server)
            _log.warning("The built-in model's process failed: %r", error)
            raise ModelUnavailable("The built-in model's process ended early.") from error

    def close(self) -> None:
        """Stop the process; the next request starts another."""
        with self._lock:
            server = self._server
        if server is not None:
            self._end(server)

    def _awakened(self) -> "_Server":
        with self._lock:
            self._used = time.monotonic()
            if self._server is None:
                try:
                    self._server = _Server(self._parts)
                except OSError as error:
                    why = f"The built-in model cannot be started: {error.strerror}."
                    raise ModelRefused(why) from error
                self._look_again(self._server, self._idle)
            return self._server

    def _loaded(self, server: "_Server", stop: Stop) -> bool:
        try:
            return server.ready(stop)
        except ModelRefused:
            self._end(server)
            raise

    def _look_again(self, server: "_Server", seconds: float) -> None:
        rest = threading.Timer(seconds, self._tire, (server,))
        rest.daemon = True
        server.rest = rest
        rest.start()

    def _tire(self, server: "_Server") -> None:
        left = self._idle if self.taken else self._used + self._idle - time.monotonic()
        if left > 0:
            self._look_again(server, left)
        else:
            self._end(server)

    def _end(self, server: "_Server") -> None:
        with self._lock:
            if self._server is server:
                self._server = None
        server.close()


class _Server:
    """One process and its socket."""

    def __init__(self, parts: Parts) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="studio-model-")
        self._socket = str(Path(self._folder.name) / "model.sock")
        module = [sys.executable, "-P", "-m", "agent.models.builtin.worker"]
        adapter = str(parts.adapter) if parts.adapter else ""
        self._process = subprocess.Popen(
            [*module, str(parts.weights), adapter, self._socket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join((str(_ROOT), str(parts.runtime)))},
            cwd="/",
        )
        self._loading = threading.Lock()
        self._loaded = False
        self.process = self._process.pid
        self.rest: threading.Timer | None = None

    def ready(self, stop: Stop) -> bool:
        """Wait until the model is loaded; return False if stopped first.

        Raises:
            ModelRefused: the model cannot be loaded.
        """
        told = self._process.stdout
        assert told is not None
        with self._loading:
            until = time.monotonic() + _PATIENCE
            while not self._loaded and not stop.is_set:
                if select.select([told], [], [], _LOOK)[0]:
                    self._hear(told.readline())
                elif time.monotonic() > until:
                    raise ModelRefused("The built-in model does not load; try again.")
            return self._loaded

    def _hear(self, line: bytes) -> None:
        told = json.loads(line) if line.startswith(b"{") else {"error": "it ended at its start"}
        if "error" in told:
            raise ModelRefused(f"The built-in model cannot be loaded: {told['error']}.")
        self._loaded = True

    def ask(self, what: str, question: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
        connection = _Connection(self._socket)
        connection.connect()
        with stop.calling(connection.drop):
            try:
                head = {"Content-Type": "application/json"}
                connection.request("POST", what, json.dumps(question), head)
                with connection.getresponse() as response:
                    status, answer = response.status, json.loads(response.read())
            finally:
                connection.close()
        if status != http.client.OK:
            raise _refusal(answer.get("error", {}))
        return dict(answer)

    def close(self) -> None:
        if self.rest is not None:
            self.rest.cancel()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._folder.cleanup()


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)

    def drop(self) -> None:
        """Shut the socket down, which unblocks a thread that reads from it."""
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


def _refusal(error: Mapping[str, Any]) -> ModelRefused | ContextTooLong:
    message = f"The built-in model did not take this: {error.get('message', 'no reason given')}."
    if error.get("type") == "exceed_context_size_error":
        return ContextTooLong(message, error.get("n_ctx"), error.get("n_prompt_tokens"))
    return ModelRefused(message)


_engines: dict[Parts, Engine] = {}
_making = threading.Lock()


def engine(parts: Parts) -> Engine:
    """Return the program's only engine for these files."""
    with _making:
        return _engines.setdefault(parts, Engine(parts))


@atexit.register
def close() -> None:
    """Stop the processes of all engines; the next request starts another."""
    with _making:
        known = list(_engines.values())
    for each in known:
        each.close()
