"""A server of fixtures: the page's files, and the answers that a test has given."""

import importlib.metadata
import importlib.util
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from sandbox_ui.page.modules import STATIC

if TYPE_CHECKING:  # it imports this module
    from tests.support.component.stage import Stage

_GRADIO = importlib.util.find_spec("gradio")  # not imported, which takes seconds
assert _GRADIO
assert _GRADIO.origin
GRADIO = Path(_GRADIO.origin).parent / "templates" / "frontend"
CONTAINER = f"gradio-container-{importlib.metadata.version('gradio').replace('.', '-')}"
"""The class to which Gradio's style sheet applies."""

_TYPES = {
    ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml", ".json": "application/json", ".map": "application/json",
}  # fmt: skip
_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_HELD_SECONDS = 60.0


@dataclass(frozen=True)
class Request:
    """A request of the page; the path is relative to it, and ``raw`` is as it was sent."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes = b""
    raw: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def cursor(self) -> str:
        """The id of the last event that a stream has received."""
        return self.headers.get("Last-Event-ID", "")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """An answer, sent once its gate is open; the status 0 drops the connection."""

    status: int = 200
    content: bytes = b""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    gate: threading.Event | None = None

    @classmethod
    def of(cls, value: Any, status: int = 200) -> "Answer":
        return cls(status, json.dumps(value).encode())


class Stream:
    """A stream of server-sent events that a test writes."""

    def __init__(self) -> None:
        self._messages: list[bytes] = []
        self._changed = threading.Condition()
        self._closed = False

    def send(self, name: str, data: bytes, cursor: int | None = None) -> None:
        number = b"" if cursor is None else b"id: %d\n" % cursor
        with self._changed:
            self._messages.append(b"event: %b\n%bdata: %b\n\n" % (name.encode(), number, data))
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._messages or self._closed)
                messages, self._messages = self._messages, []
                if not messages:
                    return
            yield b"".join(messages)


class FixtureServer:
    """Serves the files of ``static/`` and the site of each test, below a prefix of its own.

    So a request of an earlier test's page, which may still be under way, is told apart.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._sites: dict[str, Stage] = {}
        self._count = 0

    @contextmanager
    def serve(self, site: "Stage") -> Iterator[str]:
        self._count += 1
        prefix = str(self._count)
        self._sites[prefix] = site
        try:
            yield f"{self.url}/{prefix}/"
        finally:
            del self._sites[prefix]

    def site(self, prefix: str) -> "Stage | None":
        return self._sites.get(prefix)


@contextmanager
def run_fixture_server() -> Iterator[FixtureServer]:
    class Handler(_Handler):
        sites = FixtureServer("")

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Handler.sites.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Handler.sites
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    sites: FixtureServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet for headers and body

    def handle(self) -> None:
        with suppress(ConnectionError):  # the page is gone
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        prefix, _, path = url.path[1:].partition("/")
        if prefix == "ui" or path.startswith("ui/"):
            answer: Answer | Stream = _file(path.removeprefix("ui/"))
        elif (site := self.sites.site(prefix)) is None:
            answer = Answer(404)
        elif not path:
            answer = Answer(content=site.document(), kind="text/html; charset=utf-8")
        else:
            query = {name: values[-1] for name, values in parse_qs(url.query, True).items()}
            raw = self.path.removeprefix(f"/{prefix}/")
            headers = dict(self.headers)
            answer = site.respond(Request(self.command, unquote(path), query, body, raw, headers))
        self._send(answer)
        self.wfile.flush()

    def _send(self, answer: Answer | Stream) -> None:
        if isinstance(answer, Stream):
            return self._send_stream(answer)
        if answer.gate:
            answer.gate.wait(_HELD_SECONDS)
        if not answer.status:
            self.close_connection = True
            return None
        self.send_response_only(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)
        return None

    def _send_stream(self, stream: Stream) -> None:
        self.close_connection = True
        self.send_response_only(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"retry: 100\n\n")
        self.wfile.flush()
        for message in stream:
            self.wfile.write(message)
            self.wfile.flush()


def _file(path: str) -> Answer:
    """Return a file of ``static/``, or of Gradio's page."""
    file = GRADIO / path[7:] if path.startswith("gradio/") else STATIC / path
    if ".." in Path(path).parts or not file.is_file():
        return Answer(404)
    kind = _TYPES.get(file.suffix, "application/octet-stream")
    return Answer(content=file.read_bytes(), kind=kind, headers=_FOREVER)
