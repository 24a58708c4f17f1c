"""The one process that computes: started on first use, ended when nobody has asked for long."""

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
from agent.models.builtin.parts import Parts
from agent.models.builtin.places import Places
from agent.stop import Stop

IDLE = 600.0
"""Seconds without a question after which the process, and its 0.3 GB, go."""

_PATIENCE = 300.0
_LOOK = 0.05
_ROOT = Path(__file__).resolve().parents[3]
_log = logging.getLogger(__name__)


class Engine:
    """llama.cpp in a process of its own, asked over a Unix socket in a folder of this user's.

    May be used by many threads; whoever asks for an answer takes a place first.

    Args:
        parts: What it is made of.
        idle: Seconds without a question after which the process ends.
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
        """Whether whoever asks now has to wait for others."""
        return len(self._places) > 0

    @property
    def process(self) -> int | None:
        """The process's id; None where it is not there."""
        server = self._server
        return server.process if server else None

    @contextmanager
    def place(self, stop: Stop) -> Iterator[bool]:
        """The model for the block, for one conversation; False where a stop came first."""
        with self._places.place(stop) as mine:
            yield mine

    def load(self, stop: Stop) -> bool:
        """Start the process and wait until it can be asked; False where a stop came first.

        Raises:
            ModelRefused: it cannot be started.
        """
        return self._loaded(self._awakened(), stop)

    def ask(self, what: str, question: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
        """Ask the process, which is started where it is not there.

        Args:
            what: A path of llama.cpp's server, such as ``/tokenize``.
            question: What is sent, as JSON.
            stop: Ends the wait at once.

        Returns:
            The answer; nothing where the stop came first.

        Raises:
            ContextTooLong: the ids are more than fit.
            ModelRefused: the process cannot be started, or takes no such question.
            ModelUnavailable: it ended; the next question starts another.
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
        """End the process; the next question starts another."""
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
        """Wait until it is loaded; False where a stop came first.

        Raises:
            ModelRefused: it cannot be.
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
        """Have whoever reads from it read no more."""
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
    """The one engine that this program has of these parts."""
    with _making:
        return _engines.setdefault(parts, Engine(parts))


@atexit.register
def close() -> None:
    """End the program's engines; whoever asks again has another process."""
    with _making:
        known = list(_engines.values())
    for each in known:
        each.close()
