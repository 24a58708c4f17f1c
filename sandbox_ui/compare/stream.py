"""One event stream for a comparison and several of its runs.

Browsers allow six connections to a server, so the runs share one. The messages:

``comparison``
    The comparison, as ``GET /api/comparisons/{id}``: at first, at once after a run has started or
    ended, and at most once a second while events arrive.
``run``
    ``{"run": id, "id": cursor, "event": name, "data": …}``: a message of that run's own stream.
    ``id`` is null where that stream sends none.

A message costs what one of the run's own stream costs: only runs that have news are read.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from agent.errors import JournalError, RunError, UsageError
from sandbox_ui.compare.manager import ComparisonManager
from sandbox_ui.runs import sse
from sandbox_ui.runs.feed import Feed, Message
from sandbox_ui.runs.manager import RunManager

MAX_FOLLOWED = 24
"""Maximum number of runs that one stream follows."""

_DESCRIPTION_SECONDS = 1.0
_STATE_CHANGE_SECONDS = 0.1


class ComparisonStream:
    """A follower of one comparison.

    Args:
        chosen: The runs to follow; None for each member's latest.
        cursors: The journal cursors from which runs are continued.
    """

    def __init__(
        self,
        comparison: str,
        comparisons: ComparisonManager,
        runs: RunManager,
        chosen: Collection[str] | None,
        cursors: Mapping[str, int],
        finish: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._comparison = comparison
        self._comparisons = comparisons
        self._runs = runs
        self._chosen = chosen
        self._cursors = dict(cursors)
        self._finish = finish
        self._wake = asyncio.Event()
        self._signal = sse.thread_safe_setter(self._wake)
        self._state_changed = True
        self._described_at = 0.0
        self._followed: dict[str, _FollowedRun] = {}

    async def messages(self, is_over: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield the messages until the follower leaves or the comparison is deleted."""
        unfollow = self._comparisons.followers.follow(self._comparison, self._on_state_changed)
        news = False  # whether there were events since the last description
        try:
            yield sse.RETRY
            while not is_over():
                self._wake.clear()
                if self._description_is_due(news=news):
                    news = False
                    yield await self._description()
                sent = False
                for part in await run_sync(self._run_messages):
                    news = sent = True
                    yield part
                if not sent:
                    timeout = self._seconds_to_description() if news else sse.PING_SECONDS
                    if not await sse.wait_with_timeout(self._wake, timeout) and not news:
                        yield b": ping\n\n"
                await asyncio.sleep(sse.BATCH_SECONDS)
        except (RunError, JournalError, FileNotFoundError):
            return  # the comparison was deleted
        finally:
            # A cancelled task cannot await a thread; the loop's default executor runs it instead.
            loop = asyncio.get_running_loop()
            for followed in self._followed.values():
                loop.run_in_executor(None, followed.unfollow)
            unfollow()

    def _on_state_changed(self) -> None:
        self._state_changed = True
        self._signal()

    def _description_is_due(self, *, news: bool) -> bool:
        passed = time.monotonic() - self._described_at
        if self._state_changed:
            return passed >= _STATE_CHANGE_SECONDS
        return news and passed >= _DESCRIPTION_SECONDS

    def _seconds_to_description(self) -> float:
        passed = time.monotonic() - self._described_at
        wanted = _STATE_CHANGE_SECONDS if self._state_changed else _DESCRIPTION_SECONDS
        return max(0.0, wanted - passed)

    async def _description(self) -> bytes:
        """Return the comparison as a message, and follow the runs that it shows."""
        changed, self._state_changed = self._state_changed, False
        described = await run_sync(
            lambda: self._comparisons.describe(self._comparison, fresh=changed)
        )
        self._described_at = time.monotonic()
        await run_sync(self._follow, described)
        return b"event: comparison\ndata: %b\n\n" % to_json(self._finish(described))

    def _follow(self, described: Mapping[str, Any]) -> None:
        """Follow the chosen runs, or each member's latest; leave those that are over."""
        wanted = _latest_runs(described) if self._chosen is None else self._chosen
        for run in [each for each in self._followed if each not in wanted]:
            self._followed.pop(run).unfollow()
        for run in wanted:
            if run not in self._followed:
                with suppress(RunError):  # it was deleted
                    feed = self._runs.feed(run)
                    self._followed[run] = _FollowedRun(
                        run, feed, self._cursors.get(run), self._signal
                    )

    def _run_messages(self) -> list[bytes]:
        """Return the news of the runs that have any."""
        messages: list[bytes] = []
        for run, followed in list(self._followed.items()):
            try:
                messages += followed.messages()
            except (JournalError, FileNotFoundError):  # it was deleted
                self._followed.pop(run).unfollow()
            else:
                if followed.cursor is not None:
                    self._cursors[run] = followed.cursor
        return messages


class _FollowedRun:
    """One run of a stream.

    Args:
        cursor: The cursor to continue from; None to begin with the state.
        signal: Called, from any thread, when the run has news.
    """

    def __init__(
        self, run: str, feed: Feed, cursor: int | None, signal: Callable[[], None]
    ) -> None:
        self._run = run
        self._feed = feed
        self.cursor = cursor
        self._signal = signal
        self._news = True
        self.unfollow = feed.follow(self._on_news)

    def _on_news(self) -> None:
        self._news = True
        self._signal()

    def messages(self) -> list[bytes]:
        """Return the messages since the last call; a bounded number.

        Raises:
            JournalError: if the cursor is not valid, or the run was deleted.
        """
        if not self._news:
            return []
        self._news = False
        if self.cursor is None:
            state = self._feed.state_message()
            self.cursor = state.cursor
            self._news = True
            return [self._message(b"state", state)]
        found = []
        message = self._feed.events_after(self.cursor)
        if message is not None:
            self.cursor = message.cursor
            self._news = True  # there may be more than one batch
            found.append(self._message(b"message", message))
        dirty = self._feed.take_dirty(self._on_news)
        if dirty is not None:
            found.append(self._encode(b"workspace", b"null", dirty))
        return found

    def _message(self, name: bytes, message: Message) -> bytes:
        return self._encode(name, b"%d" % message.cursor, message.data)

    def _encode(self, name: bytes, cursor: bytes, data: bytes) -> bytes:
        return b'event: run\ndata: {"run":"%b","id":%b,"event":"%b","data":%b}\n\n' % (
            self._run.encode(),
            cursor,
            name,
            data,
        )


def stream_response(
    stream: ComparisonStream, is_over: Callable[[], bool], *, can_edit: bool
) -> StreamingResponse:
    """Stream a comparison.

    Args:
        can_edit: Whether the follower may change the comparison; the page is notified if not.
    """

    async def parts() -> AsyncIterator[bytes]:
        if not can_edit:
            yield b"event: read_only\ndata: {}\n\n"
        async for part in stream.messages(is_over):
            yield part

    return StreamingResponse(parts(), media_type="text/event-stream", headers=sse.HEADERS)


def parse_runs(text: str | None, known: Collection[str]) -> list[str] | None:
    """Return the runs to follow; None for the default.

    Runs that do not belong to the comparison are left out: a repetition that was done again leaves
    it, which a page that reconnects may not know yet.

    Raises:
        UsageError: if there are too many.
    """
    if text is None:
        return None
    runs = [each for each in text.split(",") if each]
    if len(runs) > MAX_FOLLOWED:
        raise UsageError(f"A stream follows at most {MAX_FOLLOWED} runs.")
    return [run for run in dict.fromkeys(runs) if run in known]


def parse_cursors(texts: Sequence[str]) -> dict[str, int]:
    """Return the cursors in query parameters of the form ``RUN:CURSOR``.

    Raises:
        JournalError: if one is not of this form.
    """
    cursors = {}
    for text in texts:
        for part in filter(None, text.split(",")):
            run, _, cursor = part.rpartition(":")
            if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
                raise JournalError("A cursor must be a number after the run's id: “RUN:CURSOR”.")
            cursors[run] = int(cursor)
    return cursors


def _latest_runs(described: Mapping[str, Any]) -> list[str]:
    """Return the latest existing run of each member."""
    latest = []
    for member in described["members"]:
        runs = [each["run"] for each in member["runs"] if not each["deleted"]]
        latest += runs[-1:]
    return latest
