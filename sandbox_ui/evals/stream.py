"""The event stream of an evaluation.

``evaluation``
    The evaluation without its tasks and cells: at first, after a change of its state, and while
    runs end as often as its results can be computed in a small share of the time.
``cells``
    ``{"cursor", "cells": [[task, member, cell], …], "counts", "remaining"}``: the cells that have
    changed. A message costs what the changed cells cost, however many there are.
``reload``
    The cursor is not known: ``GET /api/evaluations/{id}`` has all cells.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from anyio.to_thread import run_sync
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from agent.errors import RunError
from sandbox_ui.evals.manager import EvaluationManager
from sandbox_ui.runs import sse

_CELLS_SECONDS = 0.25
_OVERVIEW_SECONDS = 1.0


class EvaluationStream:
    """A follower of one evaluation.

    Args:
        cursor: The cursor from which the cells are continued.
    """

    def __init__(
        self,
        evaluation: str,
        evaluations: EvaluationManager,
        cursor: str,
        finish: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._evaluation = evaluation
        self._evaluations = evaluations
        self._cursor = cursor
        self._finish = finish
        self._wake = asyncio.Event()
        self._sent: dict[str, Any] = {}
        self._overview_at = 0.0

    async def messages(self, is_over: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield the messages until the follower leaves or the evaluation is deleted."""
        unfollow = self._evaluations.followers.follow(
            self._evaluation, sse.thread_safe_setter(self._wake)
        )
        try:
            yield sse.RETRY
            pending = True  # whether there may be another overview to send
            while not is_over():
                self._wake.clear()
                for part in await run_sync(self._cell_messages):
                    pending = True
                    yield part
                if pending and time.monotonic() - self._overview_at >= _OVERVIEW_SECONDS:
                    part, pending = await run_sync(self._overview_message)
                    if part:
                        yield part
                timeout = _OVERVIEW_SECONDS if pending else sse.PING_SECONDS
                if self._evaluations.is_elsewhere(self._evaluation):
                    timeout = sse.POLL_SECONDS
                if await sse.wait_with_timeout(self._wake, timeout):
                    pending = True
                elif not pending:
                    pending = timeout == sse.POLL_SECONDS  # its process may have ended
                    yield b": ping\n\n"
                await asyncio.sleep(_CELLS_SECONDS)
        except RunError:
            return  # the evaluation was deleted
        finally:
            unfollow()

    def _cell_messages(self) -> list[bytes]:
        self._evaluations.catch_up(self._evaluation)
        changes = self._evaluations.registry.cells(self._evaluation).changes(self._cursor)
        if changes is None:
            self._cursor = self._evaluations.registry.cells(self._evaluation).cursor
            return [b"event: reload\ndata: {}\n\n"]
        self._cursor = changes.cursor
        if not changes.cells:
            return []
        progress = self._evaluations.progress(self._evaluation)
        data = {"cursor": changes.cursor, "cells": changes.cells, **progress}
        return [b"event: cells\ndata: %b\n\n" % to_json(data)]

    def _overview_message(self) -> tuple[bytes, bool]:
        """Return a message if the overview has changed, and whether it is not the latest one."""
        described = self._evaluations.overview(self._evaluation, fresh=False)
        self._overview_at = time.monotonic()
        known = self._evaluations.registry.cells(self._evaluation).cursor
        outdated = described["cursor"] != known
        shown = {name: each for name, each in described.items() if name not in ("now", "cursor")}
        if shown == self._sent:
            return b"", outdated
        self._sent = shown
        return b"event: evaluation\ndata: %b\n\n" % to_json(self._finish(described)), outdated


def stream_response(stream: EvaluationStream, is_over: Callable[[], bool]) -> StreamingResponse:
    """Stream an evaluation."""
    messages = stream.messages(is_over)
    return StreamingResponse(messages, media_type="text/event-stream", headers=sse.HEADERS)
