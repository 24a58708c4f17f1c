"""Batching of sampling requests from concurrent rollouts."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from agent.errors import ModelError, ModelUnavailable
from agent.train.rollouts.decoding import SamplingRow
from agent.util.stop import Stop

Decode = Callable[[Sequence[SamplingRow]], None]

_POLL_SECONDS = 0.2


class SamplingBatcher:
    """Decodes requests in its own thread, when all rollouts wait or after ``max_wait`` seconds."""

    def __init__(self, decode: Decode, *, max_wait: float = 3.0, max_rows: int = 64) -> None:
        self._decode = decode
        self._max_wait = max_wait
        self._max_rows = max_rows
        self._changed = threading.Condition()
        self._waiting: list[_Request] = []
        self._last_request_at = 0.0
        self._active = 0
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="batcher", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def change_active(self, count: int = 1) -> None:
        """Change the number of active rollouts by ``count``, which may be negative."""
        with self._changed:
            self._active += count
            self._changed.notify_all()

    def wait_for(self, row: SamplingRow, stop: Stop) -> bool:
        """Request a row's answer and wait; return False if a stop came first."""
        request = _Request(row)
        row.is_cancelled = lambda: stop.is_set
        with self._changed:
            if self._closed:
                raise ModelUnavailable("The training has ended.")
            self._waiting.append(request)
            self._last_request_at = time.monotonic()
            self._changed.notify_all()
        while not request.done.wait(_POLL_SECONDS):
            if stop.is_set:
                return False
        if request.error is not None:
            raise request.error
        return not stop.is_set

    def _serve(self) -> None:
        while (batch := self._next_batch()) is not None:
            error: ModelError | None = None
            try:
                self._decode([wish.row for wish in batch])
            except Exception as failure:  # noqa: BLE001 - the boundary: nobody waits for ever
                error = ModelUnavailable(f"Sampling failed: {failure!r}")
                error.__cause__ = failure
            for request in batch:
                request.error = error
                request.done.set()

    def _next_batch(self) -> "list[_Request] | None":
        """Wait for the next batch; return None when closed and no request waits."""
        with self._changed:
            while True:
                left = self._last_request_at + self._max_wait - time.monotonic()
                full = len(self._waiting) >= min(self._max_rows, max(1, self._active))
                if self._waiting and (full or left <= 0 or self._closed):
                    batch = self._waiting[: self._max_rows]
                    self._waiting = self._waiting[self._max_rows :]
                    return batch
                if self._closed:
                    return None
                self._changed.wait(left if self._waiting else None)


class _Request:
    def __init__(self, row: SamplingRow) -> None:
        self.row = row
        self.done = threading.Event()
        self.error: ModelError | None = None
