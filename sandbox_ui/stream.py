"""A run's events as server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import StreamingResponse

from agent.errors import JournalError
from sandbox_ui.feed import Feed, Message

_PING = 15.0
_GATHER = 0.03
_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


def cursor_of(request: Request) -> int | None:
    """Where the follower left off; None where it begins.

    Raises:
        JournalError: it is no number.
    """
    text = request.headers.get("last-event-id") or request.query_params.get("cursor")
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise JournalError("The cursor is not a number.")
    return int(text)


async def respond(
    feed: Feed, cursor: int | None, over: Callable[[], bool], *, owned: bool
) -> StreamingResponse:
    """Stream a run: a picture where there is no cursor, then what follows.

    Args:
        feed: The run.
        cursor: From a message received before, or None.
        over: Whether the stream is to end: the application ends, or the follower may look no more.
        owned: Whether the follower may change the run; where not, the page is told.

    Raises:
        JournalError: the cursor is not one of this run's.
    """
    first: list[bytes] = [b"retry: 1000\n\n"]
    if not owned:
        first.append(b"event: shown\ndata: {}\n\n")
    if cursor is None:
        picture = await run_sync(feed.picture)
        first.append(_event(picture, b"picture"))
        cursor = picture.cursor
    else:
        await run_sync(feed.after, cursor)
    events = _events(feed, cursor, first, over)
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)


async def _events(
    feed: Feed, cursor: int, first: list[bytes], over: Callable[[], bool]
) -> AsyncIterator[bytes]:
    news, loop = asyncio.Event(), asyncio.get_running_loop()
    wake = waker(news)
    unfollow = await run_sync(feed.follow, wake)
    try:
        for part in first:
            yield part
        while not over():
            news.clear()
            try:
                message = await run_sync(feed.after, cursor)
            except (JournalError, FileNotFoundError):
                return  # the run was deleted
            if message is not None:
                cursor = message.cursor
                yield _event(message)
            dirty = feed.dirty(wake)
            if dirty is not None:
                yield b"event: workspace\ndata: %b\n\n" % dirty
            if message is None and dirty is None and not await within(news, _PING):
                yield b": ping\n\n"
            await asyncio.sleep(_GATHER)
    finally:
        # A cancelled task cannot wait for a thread; the loop's own executor takes it on.
        loop.run_in_executor(None, unfollow)


def _event(message: Message, name: bytes = b"message") -> bytes:
    return b"event: %b\nid: %d\ndata: %b\n\n" % (name, message.cursor, message.data)


def waker(news: asyncio.Event) -> Callable[[], None]:
    """What sets an event of the running loop, from any thread."""
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(news.set)

    return wake


async def within(event: asyncio.Event, seconds: float) -> bool:
    """Whether an event is set in time."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
