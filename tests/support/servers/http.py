"""An HTTP server on loopback that records its requests and streams events."""

import json
import socket
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.models.turns import Body


@dataclass(frozen=True)
class ReceivedRequest:
    """A received request: method, path, headers in lower case, parsed body."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Body


class HttpServer:
    """A server that runs inside a ``with`` block; subclasses answer its requests.

    Attributes:
        requests: The requests for an answer of the model.
        received: All requests.
        closing: Set when the server ends.
    """

    model_paths: tuple[str, ...] = ("/chat/completions",)
    """Ends of the paths whose requests are in ``requests``."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.received: list[ReceivedRequest] = []
        self.closing = threading.Event()
        self.changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", 0), Exchange)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    @property
    def connections(self) -> int:
        return len(self._connections)

    def get(self, exchange: "Exchange") -> None:
        raise NotImplementedError

    def post(self, exchange: "Exchange", body: Body) -> None:
        raise NotImplementedError

    def wait_for_requests(self, count: int) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: len(self.requests) >= count, 20)

    def wait_for_connections(self, count: int) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: len(self._connections) == count, 20)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        for connection in list(self._connections):
            with suppress(OSError):  # the other side may be faster
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def record(self, received: ReceivedRequest) -> None:
        with self.changed:
            self.received.append(received)
            path = received.path.split("?")[0]
            is_turn = received.method == "POST" and path.endswith(self.model_paths)
            if is_turn and not self.is_apart(received.body):
                self.requests.append(received)
            self.changed.notify_all()

    def is_apart(self, _body: Body) -> bool:
        """Return whether a request is not one of ``requests``."""
        return False

    def count_connection(self, connection: socket.socket, *, is_open: bool) -> None:
        with self.changed:
            (self._connections.add if is_open else self._connections.discard)(connection)
            self.changed.notify_all()


class _Server(ThreadingHTTPServer):
    owner: HttpServer
    daemon_threads = False
    request_queue_size = 128


class Exchange(BaseHTTPRequestHandler):
    """A connection, and the request that is answered on it."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        # Small writes must not wait for acknowledgements.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.owner = self.server.owner
        self.owner.count_connection(self.connection, is_open=True)

    def finish(self) -> None:
        with suppress(OSError):  # the client may have hung up first
            super().finish()
        self.owner.count_connection(self.connection, is_open=False)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the client hung up

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._record({})
        self.owner.get(self)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._record(body)
        self.owner.post(self, body)

    @property
    def route(self) -> str:
        return self.path.split("?")[0]

    def wait(self, gate: threading.Event | None) -> None:
        """Wait for a gate, the end of the server or the client's end of the connection."""
        while gate is not None and not gate.wait(0.02) and not self.owner.closing.is_set():
            if self._client_disconnected():
                break

    def stream(
        self, events: Iterable[str], *, endless: bool = False, complete: bool = True
    ) -> None:
        """Stream texts of server-sent events.

        Args:
            events: The texts, with their empty lines.
            endless: Whether to send nothing more then, until the client hangs up.
            complete: Whether to end the response; otherwise the connection is closed.
        """
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            data = event.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        if endless:
            self.wait(threading.Event())
        if endless or not complete:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def send_json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self.respond(status, json.dumps(value).encode(), "application/json", headers)

    def respond(
        self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _record(self, body: Body) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.record(ReceivedRequest(self.command, self.path, headers, body))

    def _client_disconnected(self) -> bool:
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError as error:
            return not isinstance(error, BlockingIOError)
