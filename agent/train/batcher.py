"""Answers that many rollouts ask for one by one, sampled together."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from agent.errors import ModelError, ModelUnavailable
from agent.stop import Stop
from agent.train.decoding import Row

Decode = Callable[[Sequence[Row]], None]

_LOOK = 0.2


class Batcher:
    """Collects what is asked for and has it decoded in one go, by a thread of its own.

    A batch begins when everybody who is at work waits for an answer, or when nobody new has
    asked for ``patience`` seconds: so a rollout that waits for its sandbox holds up nobody for
    long, and one that ends or fails holds up nobody at all.

    Args:
        decode: Writes the answers into the rows.
        patience: Seconds.
        most: How many rows go into one batch.
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
        """So many more are at work (fewer, where negative), and may be waited for."""
        with self._changed:
            self._at_work += count
            self._changed.notify_all()

    def ask(self, row: Row, stop: Stop) -> bool:
        """Have a row's answer sampled; False where a stop came first.

        Raises:
            ModelError: the decoder failed, or it is closed.
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
        """The next batch, when it is time for it; None when closed and nobody waits."""
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
