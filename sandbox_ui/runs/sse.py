"""A run's events as server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import StreamingResponse

from agent.errors import JournalError
from sandbox_ui.runs.feed import Feed, Message

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
    if cursor is None:
        state = await run_sync(feed.state_message)
        first.append(_event(state, b"state"))
        cursor = state.cursor
    else:
        await run_sync(feed.events_after, cursor)
    events = _events(feed, cursor, first, is_over)
    return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)


def presence(closing: asyncio.Event) -> StreamingResponse:
    """Stream only pings: the application is reachable while the stream is open."""
    return StreamingResponse(_pings(closing), media_type="text/event-stream", headers=HEADERS)


async def _pings(closing: asyncio.Event) -> AsyncIterator[bytes]:
    yield RETRY
    while not await wait_with_timeout(closing, PING_SECONDS):
        yield b": ping\n\n"


async def _events(
    feed: Feed, cursor: int, first: list[bytes], is_over: Callable[[], bool]
) -> AsyncIterator[bytes]:
    changed, loop = asyncio.Event(), asyncio.get_running_loop()
    wake = thread_safe_setter(changed)
    unfollow = await run_sync(feed.follow, wake)
    version, seconds = -1, POLL_SECONDS if feed.polled else PING_SECONDS
    try:
        for part in first:
            yield part
        while not is_over():
            changed.clear()
            try:
                message = await run_sync(feed.events_after, cursor)
            except (JournalError, FileNotFoundError):
                return  # the run was deleted
            if message is not None:
                cursor = message.cursor
                yield _event(message)
            dirty = feed.take_dirty(wake)
            if dirty is not None:
                yield b"event: workspace\ndata: %b\n\n" % dirty
            steering = feed.steering_after(version)
            if steering is not None:
                version = steering[0]
                yield b"event: steering\ndata: %b\n\n" % steering[1]
            if (
                message is None
                and dirty is None
                and steering is None
                and not await wait_with_timeout(changed, seconds)
            ):
                yield b": ping\n\n"
            await asyncio.sleep(BATCH_SECONDS)
    finally:
        # A cancelled task cannot await a thread; the loop's default executor runs it instead.
        loop.run_in_executor(None, unfollow)


def _event(message: Message, name: bytes = b"message") -> bytes:
    return b"event: %b\nid: %d\ndata: %b\n\n" % (name, message.cursor, message.data)


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
