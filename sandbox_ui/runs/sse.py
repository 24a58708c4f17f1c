"""A run's events as server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import StreamingResponse

from agent.errors import JournalError
from sandbox_ui.runs.feed import Feed

PING_SECONDS = 15.0
BATCH_SECONDS = 0.03
POLL_SECONDS = 0.5
"""Seconds between two looks at what another process writes."""

RETRY = b"retry: 1000\n\n"
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


def get_cursor(request: Request) -> int | None:
    """Return the cursor that a follower continues from; None for a new follower."""
    text = request.headers.get("last-event-id") or request.query_params.get("cursor")
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise JournalError("The cursor must be a number.")
    return int(text)


async def stream_response(
    feed: Feed, cursor: int | None, is_over: Callable[[], bool], *, can_edit: bool
) -> StreamingResponse:
    """Stream a run: its state if there is no cursor, then events until ``is_over``."""
    first: list[bytes] = [RETRY]
    if not can_edit:
        about = b'{"elsewhere":true}' if feed.polled else b"{}"
        first.append(b"event: read_only\ndata: %b\n\n" % about)
    changed = asyncio.Event()
    follower = Follower(feed, cursor, thread_safe_setter(changed))
    if cursor is None:
        first += map(_event, await run_sync(follower.news))
    else:
        await run_sync(feed.events_after, cursor)
    events = _events(feed, follower, changed, first, is_over)
    return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)


def presence(closing: asyncio.Event) -> StreamingResponse:
    """Stream only pings: the application is reachable while the stream is open."""
    return StreamingResponse(_pings(closing), media_type="text/event-stream", headers=HEADERS)


async def _pings(closing: asyncio.Event) -> AsyncIterator[bytes]:
    yield RETRY
    while not await wait_with_timeout(closing, PING_SECONDS):
        yield b": ping\n\n"


class News(NamedTuple):
    """A message to a follower: its event, the cursor after it if that moves, and its JSON."""

    event: bytes
    cursor: int | None
    data: bytes


class Follower:
    """Reads one run from a cursor; without a cursor it begins with the state.

    ``wake`` is what the feed calls when there is something new.
    """

    def __init__(self, feed: Feed, cursor: int | None, wake: Callable[[], None]) -> None:
        self._feed, self.cursor, self.wake = feed, cursor, wake

    def news(self) -> list[News]:
        """Return what is new since the last call, a bounded number; there may be more."""
        if self.cursor is None:
            state = self._feed.state_message()
            self.cursor = state.cursor
            return [News(b"state", state.cursor, state.data)]
        found = []
        message = self._feed.events_after(self.cursor)
        if message is not None:
            self.cursor = message.cursor
            found.append(News(b"message", message.cursor, message.data))
        dirty = self._feed.take_dirty(self.wake)
        if dirty is not None:
            found.append(News(b"workspace", None, dirty))
        return found


async def _events(
    feed: Feed,
    follower: Follower,
    changed: asyncio.Event,
    first: list[bytes],
    is_over: Callable[[], bool],
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    unfollow = await run_sync(feed.follow, follower.wake)
    version, seconds = -1, POLL_SECONDS if feed.polled else PING_SECONDS
    try:
        for part in first:
            yield part
        while not is_over():
            changed.clear()
            try:
                found = await run_sync(follower.news)
            except (JournalError, FileNotFoundError):
                return  # the run was deleted
            steering = feed.steering_after(version)
            if steering is not None:
                version = steering[0]
                found.append(News(b"steering", None, steering[1]))
            for each in found:
                yield _event(each)
            if not found and not await wait_with_timeout(changed, seconds):
                yield b": ping\n\n"
            await asyncio.sleep(BATCH_SECONDS)
    finally:
        # A cancelled task cannot await a thread; the loop's default executor runs it instead.
        loop.run_in_executor(None, unfollow)


def _event(news: News) -> bytes:
    cursor = b"" if news.cursor is None else b"id: %d\n" % news.cursor
    return b"event: %b\n%bdata: %b\n\n" % (news.event, cursor, news.data)


def thread_safe_setter(event: asyncio.Event) -> Callable[[], None]:
    """Return a function that sets an event of the running loop from any thread."""
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has closed in the meantime
            loop.call_soon_threadsafe(event.set)

    return wake


async def wait_with_timeout(event: asyncio.Event, seconds: float) -> bool:
    """Return whether an event is set within a number of seconds."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
