"""A pool of warm sandboxes."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from agent.errors import StudioError
from agent.sandbox.base import Sandbox

_log = logging.getLogger(__name__)
_RETRY_SECONDS = 10.0
_DELAY_AFTER_TAKE_SECONDS = 0.25
"""Delay after a take: creating the next sandbox would slow the taken one's first command."""


class SandboxPool:
    """A fixed number of idle sandboxes, created one at a time in the background.

    Args:
        create: Creates one sandbox with default settings, ready for commands.
        size: Number of sandboxes to keep; with 0 none is created.
    """

    def __init__(self, create: Callable[[], Sandbox], size: int) -> None:
        self._create = create
        self._size = size
        self._idle: deque[Sandbox] = deque()
        self._lost: deque[Sandbox] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._taken_at = 0.0
        self._thread = threading.Thread(target=self._fill, name="sandbox pool", daemon=True)
        if size > 0:
            self._thread.start()

    def take(self) -> Sandbox | None:
        """Return a ready sandbox, which the caller then owns; None if none is ready."""
        with self._changed:
            while self._idle:
                self._taken_at = time.monotonic()
                self._changed.notify_all()
                sandbox = self._idle.popleft()
                if not sandbox.lost:
                    return sandbox
                self._lost.append(sandbox)
            return None

    @property
    def idle(self) -> int:
        """Number of ready sandboxes."""
        return len(self._idle)

    def wait_full(self, seconds: float) -> bool:
        """Wait up to ``seconds`` until the pool is full; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._idle) >= self._size, seconds)

    def close(self) -> None:
        """Close the idle sandboxes and create no more. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        while self._idle or self._lost:
            _close((self._idle or self._lost).popleft())

    def _fill(self) -> None:
        while self._wait_until_needed():
            while self._lost:
                _close(self._lost.popleft())
            try:
                sandbox = self._create()
            except (StudioError, OSError) as error:
                _log.warning("A sandbox for the pool could not be created: %s", error)
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, _RETRY_SECONDS)
                continue
            with self._changed:
                self._idle.append(sandbox)
                self._changed.notify_all()

    def _wait_until_needed(self) -> bool:
        """Wait until the pool needs a sandbox; return False once the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._idle) < self._size)
            while (
                not self._closed
                and (left := self._taken_at + _DELAY_AFTER_TAKE_SECONDS - time.monotonic()) > 0
            ):
                self._changed.wait(left)
            return not self._closed


def _close(sandbox: Sandbox) -> None:
    try:
        sandbox.close()
    except (StudioError, OSError) as error:
        _log.warning("An idle sandbox could not be closed: %s", error)
