"""A pool of what is made ahead: warm sandboxes, spare networks."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from agent.errors import StudioError

T = TypeVar("T")

_log = logging.getLogger(__name__)
_RETRY_SECONDS = 10.0
_DELAY_AFTER_TAKE_SECONDS = 0.25
"""Delay after a take: creating the next item would slow the first command of the sandbox."""


class Pool(Generic[T]):
    """A fixed number of idle items, created one at a time in the background."""

    def __init__(
        self,
        create: Callable[[], T],
        size: int,
        *,
        dispose: Callable[[T], None],
        lost: Callable[[T], bool] = lambda _: False,
    ) -> None:
        self._create, self._dispose, self._is_lost = create, dispose, lost
        self._size = size
        self._idle: deque[T] = deque()
        self._lost: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._taken_at = 0.0
        self._thread = threading.Thread(target=self._fill, name="pool", daemon=True)
        if size > 0:
            self._thread.start()

    def take(self) -> T | None:
        """Return a ready item, which the caller then owns; None if none is ready."""
        with self._changed:
            self._taken_at = time.monotonic()
            self._changed.notify_all()
            while self._idle:
                item = self._idle.popleft()
                if not self._is_lost(item):
                    return item
                self._lost.append(item)
            return None

    @property
    def idle(self) -> int:
        """Number of ready items."""
        return len(self._idle)

    def wait_full(self, seconds: float) -> bool:
        """Wait up to ``seconds`` until the pool is full; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._idle) >= self._size, seconds)

    def close(self) -> None:
        """Dispose of the idle items and create no more. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        while self._idle or self._lost:
            self._dispose_quietly((self._idle or self._lost).popleft())

    def _fill(self) -> None:
        while self._wait_until_needed():
            while self._lost:
                self._dispose_quietly(self._lost.popleft())
            try:
                item = self._create()
            except (StudioError, OSError) as error:
                if not self._closed:
                    _log.warning("A pool could not be filled: %s", error)
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, _RETRY_SECONDS)
                continue
            with self._changed:
                self._idle.append(item)
                self._changed.notify_all()

    def _wait_until_needed(self) -> bool:
        """Wait until the pool needs an item; return False once the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._idle) < self._size)
            while (
                not self._closed
                and (left := self._taken_at + _DELAY_AFTER_TAKE_SECONDS - time.monotonic()) > 0
            ):
                self._changed.wait(left)
            return not self._closed

    def _dispose_quietly(self, item: T) -> None:
        try:
            self._dispose(item)
        except (StudioError, OSError) as error:
            _log.warning("What a pool held could not be removed: %s", error)
