"""A scripted HTTP server that speaks the protocol of OpenAI's chat endpoint.

It replaces the model in tests, with the real client.

    with Endpoint([Turn(text="Hello")]) as endpoint:
        model = EndpointModel(ModelConfig(endpoint.url, "test-model"))

It validates the history that it receives, as strict as any server: an invalid history yields a 400
and an entry in ``endpoint.history_errors``.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support.models.strict_history import find_history_error
from tests.support.models.turns import Body, Call, Turn, response_chunks, unstreamed_response

__all__ = ["Call", "Endpoint", "ReceivedRequest", "Turn"]


@dataclass(frozen=True)
class ReceivedRequest:
    """A received request: method, path, headers in lower case, parsed body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Body


Script = Iterable[Turn] | Callable[[Body], Turn]


class ScriptedTurns:
    """The turns that an endpoint answers with, one for each request; a test sets them."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []

    def __call__(self, _body: dict[str, Any]) -> Turn:
        return self.turns.pop(0)


class Endpoint:
    """The server, running inside a ``with`` block on a free port of this machine.

    Args:
        turns: The answers in order (an iterator may be endless), or a function of the
            request's body. A request after the last turn is answered with 404.
        models: The models listed by ``/models``.
        key: The required API key; None accepts any.
        strict: Whether the history is validated.
        port: The port; by default any unused one.

    Attributes:
        requests: The chat requests received.
        history_errors: The errors in the received histories.
        redirect: If set, every request is answered with 307 to this URL.
    """

    def __init__(
        self,
        turns: Script = (),
        *,
        models: Sequence[str] = ("test-model",),
        key: str | None = None,
        strict: bool = True,
        port: int = 0,
    ) -> None:
        self._script = turns if callable(turns) else iter(turns)
        self.models = models
        self.key = key
        self.strict = strict
        self.requests: list[ReceivedRequest] = []
        self.received: list[ReceivedRequest] = []
        self.history_errors: list[str] = []
        self.redirect = ""
        self.closing = threading.Event()
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The base URL, ``http://127.0.0.1:…/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    def wait_for_requests(self, count: int, seconds: float = 20.0) -> bool:
        """Wait until ``count`` chat requests have been received."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.requests) >= count, seconds)

    def wait_for_connections(self, count: int, seconds: float = 20.0) -> bool:
        """Wait until ``count`` connections are open."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._connections) == count, seconds)

    def close(self) -> None:
        """End the server and every connection."""
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        for connection in list(self._connections):
            _close_connection(connection)
        self._server.server_close()

    def record(self, received: ReceivedRequest) -> None:
        with self._changed:
            self.received.append(received)
            if received.path.split("?")[0].endswith("/chat/completions"):
                self.requests.append(received)
            self._changed.notify_all()

    def add_connection(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.add(connection)
            self._changed.notify_all()

    def remove_connection(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.discard(connection)
            self._changed.notify_all()

    def next_turn(self, body: Body) -> Turn | None:
        with self._changed:
            if callable(self._script):
                return self._script(body)
            return next(self._script, None)


def _close_connection(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side may be faster
        connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    endpoint: Endpoint
    daemon_threads = False
    request_queue_size = 128


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        # Small writes must not wait for acknowledgements.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.endpoint = self.server.endpoint
        self.endpoint.add_connection(self.connection)

    def finish(self) -> None:
        with suppress(OSError):  # the client may have hung up first
            super().finish()
        self.endpoint.remove_connection(self.connection)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the client hung up

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._record({})
        if self._reject():
            return
        if self.path.endswith("/models"):
            data = [{"id": name, "object": "model"} for name in self.endpoint.models]
            self._json(200, {"object": "list", "data": data})
        else:
            self._error(404, f"Unknown path {self.path}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._record(body)
        if self._reject():
            return
        if not self.path.split("?")[0].endswith("/chat/completions"):
            return self._error(404, f"Unknown path {self.path}")
        history_error = find_history_error(body.get("messages")) if self.endpoint.strict else ""
        if history_error:
            self.endpoint.history_errors.append(history_error)
            return self._error(400, history_error)
        turn = self.endpoint.next_turn(body)
        if turn is None:
            return self._error(404, "The script has no further turn")
        self._wait(turn.gate)
        error = turn.reject_if(body) if turn.reject_if else None
        if error:
            return self._error(400, error)
        return self._send_turn(turn, body)

    def _record(self, body: Body) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.endpoint.record(ReceivedRequest(self.command, self.path, headers, body))

    def _reject(self) -> bool:
        if self.endpoint.redirect:
            self._respond(307, b"", "text/plain", {"Location": self.endpoint.redirect})
            return True
        key = self.endpoint.key
        if key is not None and self.headers.get("Authorization") != f"Bearer {key}":
            sent = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            self._error(401, f"Incorrect API key provided: {sent[:6]}***{sent[-4:]}.")
            return True
        return False

    def _wait(self, gate: threading.Event | None) -> None:
        while gate is not None and not gate.wait(0.02) and not self.endpoint.closing.is_set():
            if self._client_disconnected():
                break

    def _client_disconnected(self) -> bool:
        self.connection.setblocking(False)
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.connection.setblocking(True)

    def _send_turn(self, turn: Turn, body: Body) -> None:
        fault, options = _parse_fault(turn.fault)
        if fault.isdigit():
            return self._status(turn, int(fault), options)
        if fault == "html":
            page = b"<!DOCTYPE html><html><title>Bad gateway</title><body>nginx</body></html>"
            return self._respond(int(options.get("status", 200)), page, "text/html")
        if fault == "nonsense":
            return self._respond(200, b"It works!", "text/plain")
        if turn.unstreamed or not body.get("stream"):
            return self._json(200, unstreamed_response(turn))
        return self._stream(turn, fault, options, body)

    def _status(self, turn: Turn, status: int, options: Mapping[str, str]) -> None:
        error = turn.error or {"message": turn.message or f"Status {status}", "type": "error"}
        headers = {name: value.replace("_", " ") for name, value in options.items()}
        self._json(status, {"error": error}, headers)

    def _stream(self, turn: Turn, fault: str, options: Mapping[str, str], body: Body) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        counted = bool((body.get("stream_options") or {}).get("include_usage"))
        chunks = list(response_chunks(turn, include_usage=counted))
        if fault in ("cut", "silent", "overloaded"):
            chunks = chunks[: int(options.get("at", max(1, len(chunks) // 2)))]
        if fault == "overloaded":
            chunks.append({"error": {"message": "The server is overloaded", "type": "overloaded"}})
        if fault == "no-finish":
            chunks = [c for c in chunks if c["choices"] and not c["choices"][0]["finish_reason"]]
        for chunk in chunks:
            self._event(json.dumps(chunk) if not isinstance(chunk, str) else chunk)
        if fault in ("silent", "endless"):
            self._wait(threading.Event())
        if fault in ("cut", "silent", "endless"):
            self.close_connection = True
            return
        if fault not in ("overloaded", "no-finish"):
            self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        line = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.wfile.flush()

    def _error(self, status: int, message: str) -> None:
        self._json(status, {"error": {"message": message, "type": "error", "code": None}})

    def _json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self._respond(status, json.dumps(value).encode(), "application/json", headers)

    def _respond(
        self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _parse_fault(text: str) -> tuple[str, dict[str, str]]:
    first, *rest = text.split() or [""]
    return first, dict(option.split("=", 1) for option in rest)
