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
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agent.errors import ContextTooLong, ModelRefused, ModelUnavailable
from agent.models.builtin.install import ModelFiles
from agent.util.stop import Stop

# Seconds without a request after which the process, which takes 0.3 GB, is stopped
IDLE_SECONDS = 600.0
_TIMEOUT_SECONDS = 300.0
_POLL_SECONDS = 0.05
_PROJECT_ROOT = Path(__file__).resolve().parents[3]
_log = logging.getLogger(__name__)


class InferenceEngine:
    """llama.cpp in a separate process; thread-safe. Enter ``acquire`` before each request."""

    def __init__(self, files: ModelFiles, idle_seconds: float = IDLE_SECONDS) -> None:
        self._files = files
        self._idle_seconds = idle_seconds
        self._turn_lock = FairLock()
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._last_used = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether a new request has to wait for others."""
        return len(self._turn_lock) > 0

    @property
    def pid(self) -> int | None:
        """The process id; None if the process is not running."""
        server = self._server
        return server.pid if server else None

    @contextmanager
    def acquire(self, stop: Stop) -> Iterator[bool]:
        """Reserve the model for one turn; yield False if stopped first."""
        with self._turn_lock.acquire(stop) as acquired:
            yield acquired

    def load(self, stop: Stop) -> bool:
        """Start the process and wait until it is ready; return False if stopped first."""
        return self._wait_until_ready(self._running_server(), stop)

    def request(self, path: str, body: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
        """Send a request to a path such as ``/tokenize``; return the response, empty if stopped."""
        server = self._running_server()
        try:
            if not self._wait_until_ready(server, stop):
                return {}
            return server.request(path, body, stop)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if stop.is_set:
                return {}
            self._stop(server)
            _log.warning("The built-in model's process failed: %r", error)
            raise ModelUnavailable("The built-in model's process ended early.") from error

    def close(self) -> None:
        """Stop the process; the next request starts another."""
        with self._lock:
            server = self._server
        if server is not None:
            self._stop(server)

    def _running_server(self) -> "_Server":
        with self._lock:
            self._last_used = time.monotonic()
            if self._server is None:
                try:
                    self._server = _Server(self._files)
                except OSError as error:
                    message = f"The built-in model cannot be started: {error.strerror}."
                    raise ModelRefused(message) from error
                self._schedule_idle_check(self._server, self._idle_seconds)
            return self._server

    def _wait_until_ready(self, server: "_Server", stop: Stop) -> bool:
        try:
            return server.wait_until_ready(stop)
        except ModelRefused:
            self._stop(server)
            raise

    def _schedule_idle_check(self, server: "_Server", seconds: float) -> None:
        timer = threading.Timer(seconds, self._stop_if_idle, (server,))
        timer.daemon = True
        server.idle_timer = timer
        timer.start()

    def _stop_if_idle(self, server: "_Server") -> None:
        left = (
            self._idle_seconds
            if self.is_busy
            else self._last_used + self._idle_seconds - time.monotonic()
        )
        if left > 0:
            self._schedule_idle_check(server, left)
        else:
            self._stop(server)

    def _stop(self, server: "_Server") -> None:
        with self._lock:
            if self._server is server:
                self._server = None
        server.close()


class _Server:
    """One process and its socket."""

    def __init__(self, files: ModelFiles) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="studio-model-")
        self._socket = str(Path(self._folder.name) / "model.sock")
        module = [sys.executable, "-P", "-m", f"{__package__}.worker"]
        adapter = str(files.adapter) if files.adapter else ""
        self._process = subprocess.Popen(
            [*module, str(files.weights), adapter, self._socket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join((str(_PROJECT_ROOT), str(files.runtime)))},
            cwd="/",
        )
        self._loading_lock = threading.Lock()
        self._loaded = False
        self.pid = self._process.pid
        self.idle_timer: threading.Timer | None = None

    def wait_until_ready(self, stop: Stop) -> bool:
        """Wait until the model is loaded; return False if stopped first."""
        stdout = self._process.stdout
        assert stdout is not None
        with self._loading_lock:
            deadline = time.monotonic() + _TIMEOUT_SECONDS
            while not self._loaded and not stop.is_set:
                if select.select([stdout], [], [], _POLL_SECONDS)[0]:
                    self._handle_startup_message(stdout.readline())
                elif time.monotonic() > deadline:
                    raise ModelRefused("The built-in model did not load in time; try again.")
            return self._loaded

    def _handle_startup_message(self, line: bytes) -> None:
        message = json.loads(line) if line.startswith(b"{") else {"error": "its process exited"}
        if "error" in message:
            raise ModelRefused(f"The built-in model cannot be loaded: {message['error']}.")
        self._loaded = True

    def request(self, path: str, body: Mapping[str, Any], stop: Stop) -> dict[str, Any]:
        connection = _UnixConnection(self._socket)
        connection.connect()
        with stop.on_set(connection.shut_down):
            try:
                headers = {"Content-Type": "application/json"}
                connection.request("POST", path, json.dumps(body), headers)
                with connection.getresponse() as response:
                    status, answer = response.status, json.loads(response.read())
            finally:
                connection.close()
        if status != http.client.OK:
            raise _request_error(answer.get("error", {}))
        return dict(answer)

    def close(self) -> None:
        if self.idle_timer is not None:
            self.idle_timer.cancel()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._folder.cleanup()


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)

    def shut_down(self) -> None:
        """Shut the socket down, which unblocks a thread that reads from it."""
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


def _request_error(error: Mapping[str, Any]) -> ModelRefused | ContextTooLong:
    message = f"The built-in model refused the request: {error.get('message', 'no reason given')}."
    if error.get("type") == "exceed_context_size_error":
        return ContextTooLong(message, error.get("n_ctx"), error.get("n_prompt_tokens"))
    return ModelRefused(message)


_engines: dict[ModelFiles, InferenceEngine] = {}
_engines_lock = threading.Lock()


def get_engine(files: ModelFiles) -> InferenceEngine:
    """Return the program's only engine for these files."""
    with _engines_lock:
        return _engines.setdefault(files, InferenceEngine(files))


@atexit.register
def close_engines() -> None:
    """Stop the processes of all engines; the next request starts another."""
    with _engines_lock:
        known = list(_engines.values())
    for each in known:
        each.close()


class FairLock:
    """A fair lock: waiting threads acquire it in order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()

    def __len__(self) -> int:
        """Return the number of threads that wait for the lock or hold it."""
        return len(self._queue)

    @contextmanager
    def acquire(self, stop: Stop) -> Iterator[bool]:
        """Acquire the lock for the block; yield False if stopped without acquiring it."""
        turn_granted = threading.Event()
        with self._lock:
            self._queue.append(turn_granted)
            self._wake_first()
        try:
            while not turn_granted.wait(_POLL_SECONDS) and not stop.is_set:
                pass
            yield turn_granted.is_set()
        finally:
            with self._lock:
                self._queue.remove(turn_granted)
                self._wake_first()

    def _wake_first(self) -> None:
        if self._queue:
            self._queue[0].set()
