"""Removal of closed sandboxes, which goes on while their callers do."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from agent.errors import SandboxError

_log = logging.getLogger(__name__)
_AT_ONCE = 4
_MAX_PENDING = 8
"""Removals that may wait: until one has ended, a paused sandbox takes its memory."""


class Removals:
    """Removes sandboxes in the background, by their ids. Thread-safe."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, "sandbox removal")
        self._room = threading.Semaphore(_MAX_PENDING)
        self._pending: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def add(self, sandbox_id: str, remove: Callable[[], None]) -> None:
        """Call ``remove`` in the background, or at once if closed; wait while many are pending."""
        self._room.acquire()
        with self._lock:
            closed = self._closed
            if not closed:
                self._pending[sandbox_id] = self._threads.submit(
                    self._carry_out, sandbox_id, remove
                )
        if closed:
            self._carry_out(sandbox_id, remove)

    def wait(self, sandbox_id: str) -> None:
        """Wait until nothing of a closed sandbox is left."""
        with self._lock:
            pending = self._pending.get(sandbox_id)
        if pending is not None:
            wait([pending])

    def close(self) -> None:
        """Wait for the pending removals. Idempotent."""
        with self._lock:
            self._closed = True
        self._threads.shutdown()

    def _carry_out(self, sandbox_id: str, remove: Callable[[], None]) -> None:
        try:
            remove()
        except SandboxError as error:  # the next start removes it
            _log.warning("A closed sandbox could not be removed: %s", error)
        finally:
            with self._lock:
                self._pending.pop(sandbox_id, None)
            self._room.release()
