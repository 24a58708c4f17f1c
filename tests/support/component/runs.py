"""A run as the page gets it, made from events by the server's own reducers."""

import threading
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from agent.events import Event, encode
from agent.history.export import conversation_markdown
from agent.loop.steering import Steering, SteeringState
from agent.runs.folder import RunFolder
from sandbox_ui.preview.base import PreviewRequest
from sandbox_ui.preview.text import markdown
from sandbox_ui.runs.feed import Feed
from tests.support.component.server import Answer, Request, Stream
from tests.support.local_provider import LocalSandboxProvider

RUN = "component-test-run"
"""The id of a test's first run."""


class PageRun:
    """A run, its event stream and the answers that follow from its events.

    A test may change its folder, how it is steered, whether the page's user owns it, and whether
    another process carries it out.
    """

    def __init__(self, data: Path, events: Iterable[Event] = (), *, run: str = RUN) -> None:
        self.folder = _open_or_create(data, run)
        self.steering = Steering()
        self._steered: SteeringState | None = None
        self.is_own, self.elsewhere = True, False
        self._feed = Feed(self.folder, self.steering)
        self._streams: list[tuple[Stream, list[int]]] = []
        self._lock = threading.Lock()  # the server's threads begin streams
        self.add(*events)

    @property
    def id(self) -> str:
        return self.folder.id

    @property
    def has_begun(self) -> bool:
        journal = self.folder.journal
        return journal.exists() and bool(journal.stat().st_size)

    def add(self, *events: Event) -> None:
        """Continue the run; the page receives the events."""
        if events:
            with self.folder.journal.open("ab") as journal:
                journal.writelines(encode(event) + b"\n" for event in events)
        with self._lock:
            for stream, position in self._streams:
                self._send_new(stream, position)

    def add_recorded(self, answers: dict[str, Any]) -> None:
        """Continue the run with the events of a recording."""
        with self.folder.journal.open("ab") as journal:
            journal.writelines(to_json(event) + b"\n" for event in answers["journal"])

    def change_files(self, *folders: str) -> None:
        """Tell the page that files have changed in these folders; without any, everywhere."""
        data = to_json({"folders": folders}) if folders else b'{"all":true}'
        self._send("workspace", data)

    def send_steering(self, state: SteeringState | None = None) -> None:
        """Tell the page how the run is steered now: as ``steering`` says, or from now on so."""
        self._steered = state or self._steered
        self._send("steering", to_json(self._steered or self.steering.state))

    def disconnect(self) -> None:
        """End the streams; the page connects again."""
        with self._lock:
            streams, self._streams = self._streams, []
        for stream, _ in streams:
            stream.close()

    def respond(self, path: str, request: Request) -> Answer | Stream | None:
        """Return the answer to a request below the run's URL, if it follows from its events."""
        query = request.query
        if path == "events":
            return self._follow(request.cursor or query.get("cursor"))
        if path.startswith("steps/") and path.count("/") == 1:
            return Answer(content=self._feed.step_events(int(path[6:])))
        if path == "find":
            return _json({"matches": self._feed.find(query["q"])})
        if path == "tokens":
            return _json(self._feed.tokens(int(query.get("after") or 0)))
        if path == "conversation.md":
            text = "".join(conversation_markdown(self._feed.events()))
            return Answer(content=text.encode(), kind="text/markdown; charset=utf-8")
        return None

    def _follow(self, cursor: str | None) -> Stream:
        """Begin a stream as ``sandbox_ui.runs.sse`` does."""
        stream, position = Stream(), [int(cursor or 0)]
        if self.elsewhere or not self.is_own:
            stream.send("read_only", b'{"elsewhere":true}' if self.elsewhere else b"{}")
        if cursor is None:
            state = self._feed.state_message()
            stream.send("state", state.data, state.cursor)
            position[0] = state.cursor
        with self._lock:
            self._send_new(stream, position)
            self._streams.append((stream, position))
        stream.send("workspace", b'{"all":true}')
        stream.send("steering", to_json(self._steered or self.steering.state))
        return stream

    def _send(self, name: str, data: bytes) -> None:
        with self._lock:
            for stream, _ in self._streams:
                stream.send(name, data)

    def _send_new(self, stream: Stream, position: list[int]) -> None:
        while message := self._feed.events_after(position[0]):
            stream.send("message", message.data, message.cursor)
            position[0] = message.cursor


def _open_or_create(data: Path, run: str) -> RunFolder:
    if (data / "runs" / run).exists():
        return RunFolder.open(data, run)
    return RunFolder.create(data, LocalSandboxProvider(data).create_workspace(), run_id=run)


def render_markdown(request: Request) -> Answer:
    """Return Markdown of a model as HTML, as the server renders it."""
    asked = PreviewRequest("text.md", len(request.body), {"model_text": "1"})
    return _json(markdown.view(BytesIO(request.body), asked))


def _json(value: object) -> Answer:
    return Answer(content=to_json(value))
