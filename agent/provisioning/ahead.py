"""A sandbox that is created before its run asks for it."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from agent.errors import StudioError
from agent.sandbox.base import Sandbox

_log = logging.getLogger(__name__)


class SandboxAhead:
    """One sandbox, created in the background for the first run; its folder exists already."""

    def __init__(self, sandbox_id: str, create: Callable[[str], Sandbox]) -> None:
        self.sandbox_id = sandbox_id
        self._create = create
        self._created: Future[Sandbox | None] = Future()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._taken = False

    def start(self) -> None:
        """Begin to create it."""
        self._thread = threading.Thread(target=self._work, name="sandbox ahead", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until it is created, or could not be."""
        if self._thread is not None:
            self._created.result()

    def take(self) -> Sandbox | None:
        """Return the sandbox, which the caller then owns, if there is one; call ``wait`` first."""
        with self._lock:
            taken, self._taken = self._taken, True
        return None if taken or self._thread is None else self._created.result()

    def close(self) -> None:
        """Close the sandbox if nothing took it; wait for one that is being created."""
        if (sandbox := self.take()) is None:
            return
        try:
            sandbox.close()
        except (StudioError, OSError) as error:
            _log.warning("An unused sandbox could not be closed: %s", error)

    def _work(self) -> None:
        try:
            self._created.set_result(self._create(self.sandbox_id))
        except Exception as error:  # noqa: BLE001 - the run's own attempt says what is wrong
            _log.info("A sandbox could not be created ahead of its run: %s", error)
            self._created.set_result(None)
