"""One event stream for an experiment and several of its runs.

Browsers allow six connections to a server, so the runs share one. The messages:

``comparison``, ``evaluation``
    The experiment, without an evaluation's tasks and cells: at first, after a change of its state,
    and at most once a second while events arrive or runs end, an evaluation's as often as its
    results can be computed in a small share of the time.
``cells`` (evaluations)
    ``{"cursor", "cells": [[task, member, cell], …], "counts", "remaining"}``: the cells that have
    changed. A message costs what the changed cells cost, however many there are.
``reload`` (evaluations)
    The cursor is not known: ``GET /api/evaluations/{id}`` has all cells.
``run``
    ``{"run": id, "id": cursor, "event": name, "data": …}``: a message of that run's own stream.
    ``id`` is null where that stream sends none. It costs what one of that stream costs: only runs
    that have news are read.
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
from sandbox_ui.experiments.live_experiment import LiveExperiment
from sandbox_ui.experiments.manager import ExperimentManager
from sandbox_ui.runs import sse
from sandbox_ui.runs.feed import Feed
from sandbox_ui.runs.manager import RunManager

MAX_FOLLOWED = 24  # runs of one stream
_OVERVIEW_SECONDS = 1.0
_STATE_CHANGE_SECONDS = 0.1
_CELLS_SECONDS = 0.25


class ExperimentStream:
    """A follower of one experiment.

    ``chosen`` are the runs to follow, None for each member's latest, of a comparison. ``cursors``
    continue an evaluation's cells, or a comparison's runs (``RUN:CURSOR``). ``finish`` returns what
    this follower may see.
    """

    def __init__(
        self,
        live: LiveExperiment,
        manager: ExperimentManager,
        runs: RunManager,
        chosen: Collection[str] | None,
        cursors: Sequence[str],
        finish: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._live, self._experiment, self._kind = live, live.folder.id, live.folder.kind
        self._has_cells = self._kind == "evaluation"
        self._manager = manager
        self._runs = runs
        self._chosen = chosen
        self._cell_cursor = cursors[-1] if self._has_cells and cursors else ""
        self._run_cursors = {} if self._has_cells else _parse_cursors(cursors)
        self._finish = finish
        self._wake = asyncio.Event()
        self._signal = sse.thread_safe_setter(self._wake)
        self._state_changed = True
        self._news = False  # whether there were messages since the last overview
        self._sent: dict[str, Any] = {}
        self._overview_at = 0.0
        self._followed: dict[str, _FollowedRun] = {}

    async def messages(self, is_over: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield the messages until the follower leaves or the experiment is deleted."""
        unfollow = self._live.follow(self._on_state_changed)
        try:
            yield sse.RETRY
            while not is_over():
                self._wake.clear()
                parts = await run_sync(self._cell_messages) if self._has_cells else []
                if self._seconds_to_overview() <= 0:
                    parts += await run_sync(self._overview_messages)
                found = await run_sync(self._run_messages)
                self._news = self._news or bool(found)
                for part in (*parts, *found):
                    yield part
                if not found:
                    for part in await self._wait():
                        yield part
                await asyncio.sleep(_CELLS_SECONDS if self._has_cells else sse.BATCH_SECONDS)
        except (RunError, JournalError, FileNotFoundError):
            return  # the experiment was deleted
        finally:
            # A cancelled task cannot await a thread; the loop's default executor runs it instead.
            loop = asyncio.get_running_loop()
            for followed in self._followed.values():
                loop.run_in_executor(None, followed.unfollow)
            unfollow()

    async def _wait(self) -> list[bytes]:
        """Wait until there is something to do; return a ping if nothing happened for long."""
        seconds = min(self._seconds_to_overview(), sse.PING_SECONDS)
        elsewhere = self._live.observed is not None
        if elsewhere:
            seconds = sse.POLL_SECONDS
        woken = await sse.wait_with_timeout(self._wake, max(0.0, seconds))
        if woken or self._state_changed or self._news:
            return []
        self._news = elsewhere  # its process may have ended
        return [b": ping\n\n"]

    def _on_state_changed(self) -> None:
        self._state_changed = True
        self._signal()

    def _seconds_to_overview(self) -> float:
        """Return when an overview is due, in seconds from now; infinity if nothing changed."""
        if not (self._state_changed or self._news):
            return float("inf")
        soon = self._state_changed and not self._has_cells
        wanted = _STATE_CHANGE_SECONDS if soon else _OVERVIEW_SECONDS
        return self._overview_at + wanted - time.monotonic()

    def _overview_messages(self) -> list[bytes]:
        """Return the overview if it has changed, and follow the runs that it shows."""
        changed, self._state_changed, self._news = self._state_changed, False, False
        fresh = changed and not self._has_cells
        described = self._manager.overview(self._experiment, fresh=fresh)
        self._live = self._manager.registry.get(self._experiment)
        self._overview_at = time.monotonic()
        if self._has_cells:
            self._news = described["cursor"] != self._live.cursor  # it is not the latest one
        self._follow(described)
        shown = {name: each for name, each in described.items() if name not in ("now", "cursor")}
        if shown == self._sent:
            return []
        self._sent = shown
        data = to_json(self._finish(described))
        return [b"event: %b\ndata: %b\n\n" % (self._kind.encode(), data)]

    def _cell_messages(self) -> list[bytes]:
        self._live = self._manager.catch_up(self._experiment)
        changes = self._live.changes(self._cell_cursor)
        if changes is None:
            self._cell_cursor = self._live.cursor
            return [b"event: reload\ndata: {}\n\n"]
        self._cell_cursor = changes.cursor
        if not changes.cells:
            return []
        self._news = True
        progress = self._manager.progress(self._live)
        data = {"cursor": changes.cursor, "cells": changes.cells, **progress}
        return [b"event: cells\ndata: %b\n\n" % to_json(data)]

    def _follow(self, described: Mapping[str, Any]) -> None:
        """Follow the chosen runs, or each member's latest; leave those that are over."""
        wanted = self._chosen
        if wanted is None:
            wanted = [] if self._has_cells else _latest_runs(described)
        for run in [each for each in self._followed if each not in wanted]:
            self._followed.pop(run).unfollow()
        for run in wanted:
            if run not in self._followed:
                with suppress(RunError):  # it was deleted
                    feed = self._runs.feed(run)
                    self._followed[run] = _FollowedRun(
                        run, feed, self._run_cursors.get(run), self._signal
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
                    self._run_cursors[run] = followed.cursor
        return messages


class _FollowedRun(sse.Follower):
    """One run of a stream; it is read only if it has news."""

    def __init__(
        self, run: str, feed: Feed, cursor: int | None, signal: Callable[[], None]
    ) -> None:
        super().__init__(feed, cursor, self._on_news)
        self._run = run
        self._signal = signal
        self._has_news = True
        self.unfollow = feed.follow(self._on_news)

    def _on_news(self) -> None:
        self._has_news = True
        self._signal()

    def messages(self) -> list[bytes]:
        """Return the messages since the last call; a bounded number."""
        if not self._has_news:
            return []
        self._has_news, before = False, self.cursor
        found = self.news()
        if self.cursor != before:
            self._has_news = True  # there may be more than one batch
        return [self._message(each) for each in found]

    def _message(self, news: sse.News) -> bytes:
        cursor = b"null" if news.cursor is None else b"%d" % news.cursor
        return b'event: run\ndata: {"run":"%b","id":%b,"event":"%b","data":%b}\n\n' % (
            self._run.encode(), cursor, news.event, news.data,
        )  # fmt: skip


def stream_response(
    stream: ExperimentStream, is_over: Callable[[], bool], *, can_edit: bool
) -> StreamingResponse:
    """Stream an experiment; a follower who may not change it is told so first."""

    async def parts() -> AsyncIterator[bytes]:
        if not can_edit:
            yield b"event: read_only\ndata: {}\n\n"
        async for part in stream.messages(is_over):
            yield part

    return StreamingResponse(parts(), media_type="text/event-stream", headers=sse.HEADERS)


def parse_runs(text: str | None, known: Collection[str]) -> list[str] | None:
    """Return the runs to follow that still belong to the experiment; None for the default."""
    if text is None:
        return None
    runs = [each for each in text.split(",") if each]
    if len(runs) > MAX_FOLLOWED:
        raise UsageError(f"A stream follows at most {MAX_FOLLOWED} runs.")
    return [run for run in dict.fromkeys(runs) if run in known]


def _parse_cursors(texts: Sequence[str]) -> dict[str, int]:
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
