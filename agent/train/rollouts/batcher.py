"""Batching of sampling requests from concurrent rollouts."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from agent.errors import ModelError, ModelUnavailable
from agent.train.rollouts.decoding import Row
from agent.util.cancellation import Stop

Decode = Callable[[Sequence[Row]], None]

_LOOK = 0.2


class Batcher:
    """Collects sampling requests and decodes them in batches, in its own thread.

    A batch starts when all active rollouts wait for an answer, or when no request has arrived
    for ``patience`` seconds. So a rollout that waits for its sandbox delays the others only
    briefly, and one that ends or fails does not delay them.

    Args:
        decode: Writes the answers into the rows.
        patience: Seconds.
        most: Maximum number of rows in a batch.
    """

    def __init__(self, decode: Decode, *, patience: float = 3.0, most: int = 64) -> None:
        self._decode = decode
        self._patience = patience
        self._most = most
        self._changed = threading.Condition()
        self._waiting: list[_Wish] = []
        self._asked = 0.0
        self._at_work = 0
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

    def join(self, count: int = 1) -> None:
        """Change the number of active rollouts by ``count``, which may be negative."""
        with self._changed:
            self._at_work += count
            self._changed.notify_all()

    def ask(self, row: Row, stop: Stop) -> bool:
        """Request a row's answer and wait; return False if a stop came first.

        Raises:
            ModelError: if the decoder failed, or the batcher is closed.
        """
        wish = _Wish(row)
        row.dropped = lambda: stop.is_set
        with self._changed:
            if self._closed:
                raise ModelUnavailable("The training has ended.")
            self._waiting.append(wish)
            self._asked = time.monotonic()
            self._changed.notify_all()
        while not wish.done.wait(_LOOK):
            if stop.is_set:
                return False
        if wish.error is not None:
            raise wish.error
        return not stop.is_set

    def _serve(self) -> None:
        while (batch := self._next()) is not None:
            error: ModelError | None = None
            try:
                self._decode([wish.row for wish in batch])
            except Exception as failure:  # noqa: BLE001 - the boundary: nobody waits for ever
                error = ModelUnavailable(f"Sampling failed: {failure!r}")
                error.__cause__ = failure
            for wish in batch:
                wish.error = error
                wish.done.set()

    def _next(self) -> "list[_Wish] | None":
        """Wait for the next batch; return None when closed and no request waits."""
        with self._changed:
            while True:
                left = self._asked + self._patience - time.monotonic()
                full = len(self._waiting) >= min(self._most, max(1, self._at_work))
                if self._waiting and (full or left <= 0 or self._closed):
                    batch = self._waiting[: self._most]
                    self._waiting = self._waiting[self._most :]
                    return batch
                if self._closed:
                    return None
                self._changed.wait(left if self._waiting else None)


class _Wish:
    def __init__(self, row: Row) -> None:
        self.row = row
        self.done = threading.Event()
        self.error: ModelError | None = None
