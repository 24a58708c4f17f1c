"""Follow a round for as long as its client is connected; stop it when the client leaves."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, ClassVar

import anyio
from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agent.errors import StudioError
from agent.events import Event, RunEnded
from agent.runs import journal
from sandbox_ui.openai_api.errors import ApiError
from sandbox_ui.openai_api.execution import StartedRound
from sandbox_ui.openai_api.files import ProducedFile
from sandbox_ui.openai_api.parameters import Parameters
from sandbox_ui.openai_api.progress import Piece, RoundProgress
from sandbox_ui.runs import sse
from sandbox_ui.runs.feed import BATCH_BYTES
from sandbox_ui.runs.manager import RunManager

DISCONNECTED = "The client that asked for this run closed its connection."
_CLOSING = "The studio is shutting down."
_PING = b": ping\n\n"
_log = logging.getLogger(__name__)
LinkFiles = Callable[[RoundProgress], Awaitable[list[ProducedFile]]]


class Presenter(ABC):
    """Writes one answer in the form of one route; ``param`` holds the request's messages."""

    param: ClassVar[str]

    def __init__(
        self, parameters: Parameters, started: StartedRound, link_files: LinkFiles
    ) -> None:
        self.progress = RoundProgress(
            started.run, started.mode, parameters.stop, self.param, notices=[*parameters.notices]
        )
        self._parameters = parameters
        self._started = started
        self._link_files = link_files
        self._links: list[ProducedFile] = []

    @property
    def _metadata(self) -> dict[str, str]:
        return {**self._parameters.metadata, "run": self.progress.run}

    @property
    def _sandbox(self) -> dict[str, Any]:
        return self.progress.describe(self._links)

    def _linked(self) -> list[ProducedFile]:
        """Return the files that the answer links to."""
        return [link for link in self._links if not link.is_answer]

    @abstractmethod
    def begin(self) -> list[bytes]:
        """Return the first messages of a stream."""

    @abstractmethod
    def write(self, piece: Piece) -> list[bytes]:
        """Return the messages for a piece, and keep it for the whole answer."""

    @abstractmethod
    async def finish(self) -> list[bytes]:
        """Return the last messages; the round has ended with an answer."""

    @abstractmethod
    def fail(self, error: ApiError) -> list[bytes]:
        """Return the last messages of a stream that ends with an error."""

    @abstractmethod
    def body(self) -> dict[str, object]:
        """Return the whole answer, after ``finish``."""


class RoundResponse(Response):
    """The answer to a request: follows its round, streamed or not."""

    def __init__(
        self,
        runs: RunManager,
        started: StartedRound,
        presenter: Presenter,
        closing: asyncio.Event,
        *,
        stream: bool,
    ) -> None:
        super().__init__()
        self._runs = runs
        self._started = started
        self._presenter = presenter
        self._closing = closing
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; a client that disconnects ends the run."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_at_disconnect, receive, group.cancel_scope)
                answer = self._send_stream if self._stream else self._send_body
                await answer(scope, receive, send)
                group.cancel_scope.cancel()
        finally:
            if self._presenter.progress.status is None:
                # A cancelled task cannot await a thread.
                loop = asyncio.get_running_loop()
                loop.run_in_executor(None, self._stop)

    async def _send_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._whole_answer()
        await response(scope, receive, send)

    async def _whole_answer(self) -> Response:
        progress = self._presenter.progress
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    if piece is not None:
                        self._presenter.write(piece)
            if progress.error is not None:
                return progress.error.response()
            await self._presenter.finish()
        except ApiError as error:
            return error.response()
        headers = {"X-Request-Id": self._started.run}
        return Response(to_json(self._presenter.body()), 200, headers, "application/json")

    async def _send_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream the answer; an error before its first part has a status of its own."""
        stream = _EventStream(send, self._started.run)
        try:
            async with aclosing(self._pieces()) as pieces:
                async for piece in pieces:
                    await stream.write([] if stream.is_open else self._presenter.begin())
                    await stream.write([_PING] if piece is None else self._presenter.write(piece))
            error = self._presenter.progress.error
            if error is None:
                await stream.write([] if stream.is_open else self._presenter.begin())
                await stream.write(await self._presenter.finish())
        except ApiError as caught:
            error = caught
        if error is not None and not stream.is_open:
            await error.response()(scope, receive, send)
            return
        if error is not None:
            await stream.write(self._presenter.fail(error))
        await stream.close()

    async def _pieces(self) -> AsyncGenerator[Piece | None]:
        """Yield the pieces of the round, and None when nothing has come for some time."""
        async with aclosing(follow_round(self._runs, self._started, self._closing)) as events:
            async for event in events:
                if event is None:
                    yield None
                    continue
                for piece in self._presenter.progress.apply(event):
                    yield piece

    def _stop(self) -> None:
        try:
            self._runs.stop(self._started.run, DISCONNECTED)
        except StudioError as error:  # it was deleted
            _log.info("Run %s cannot be stopped: %s", self._started.run, error)


class _EventStream:
    """Server-sent events of one response, which begins with the first of them."""

    def __init__(self, send: Send, run: str) -> None:
        self._send = send
        self._run = run
        self.is_open = False

    async def write(self, messages: list[bytes]) -> None:
        if messages and not self.is_open:
            self.is_open = True
            headers = {"Content-Type": "text/event-stream; charset=utf-8", **sse.HEADERS}
            headers["X-Request-Id"] = self._run
            raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            await self._send({"type": "http.response.start", "status": 200, "headers": raw})
        if messages:
            body = b"".join(messages)
            await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def close(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def follow_round(
    runs: RunManager, started: StartedRound, closing: asyncio.Event
) -> AsyncGenerator[Event | None]:
    """Yield a round's events up to its end, and None when none has come for some time."""
    feed, path = runs.feed(started.run), runs.folder(started.run).journal
    changed, loop, cursor = asyncio.Event(), asyncio.get_running_loop(), started.cursor
    unfollow = await run_sync(feed.follow, sse.thread_safe_setter(changed))
    try:
        while True:
            changed.clear()
            try:
                events, cursor = await run_sync(_read, path, cursor)
            except (StudioError, FileNotFoundError) as error:
                raise ApiError("The run was deleted.", 409, code="run_deleted") from error
            for event in events:
                yield event
                if isinstance(event, RunEnded):
                    return
            if closing.is_set():
                raise ApiError(_CLOSING, 503, code="shutting_down")
            if not events and not await _wait_for_either(changed, closing):
                yield None
            await asyncio.sleep(sse.BATCH_SECONDS)
    finally:
        loop.run_in_executor(None, unfollow)


def read_round(path: Path, number: int) -> list[Event]:
    """Return the events of a round that has ended or is in progress."""
    events: list[Event] = []
    current = 0
    for _, event in journal.read(path):
        current += event.kind in ("run_started", "run_continued")
        if current == number:
            events.append(event)
    return events


def _read(path: Path, cursor: int) -> tuple[list[Event], int]:
    """Return a bounded number of events after a cursor, and the cursor after them."""
    found: list[Event] = []
    begin = cursor
    for cursor, _, events in journal.read_entries(path, begin):
        found += events
        if cursor - begin >= BATCH_BYTES:
            break
    return found, cursor


async def _wait_for_either(*events: asyncio.Event) -> bool:
    """Return whether one of the events is set before the time for a ping."""
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(
            tasks, timeout=sse.PING_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        for task in tasks:
            task.cancel()
    return bool(done)


async def _cancel_at_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
