"""Automatic deletion of expired runs; see ``agent.history.retention``."""

import logging
import threading

from agent.errors import RunError, StudioError
from agent.history.retention import Doomed, Retention, doomed
from agent.util import clock
from sandbox_ui.history.catalog import Shelf

_PAUSE = 300.0
_PATIENCE = 10.0
_log = logging.getLogger(__name__)


class Keeping:
    """Deletes expired runs in the background.

    Args:
        shelf: The catalog of all runs.
        rule: The retention rule.
    """

    def __init__(self, shelf: Shelf, rule: Retention) -> None:
        self.rule = rule
        self._shelf = shelf
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="retention", daemon=True)

    def open(self) -> None:
        """Start the background thread; call after the live runs are opened."""
        self._keeper.start()

    def close(self) -> None:
        """Stop; a deletion in progress is completed."""
        self._closing.set()
        if self._keeper.is_alive():
            self._keeper.join(_PATIENCE)

    def tidy(self, now: float | None = None) -> int:
        """Delete the runs that have expired.

        Args:
            now: Seconds since the epoch; the default is the current time, protected against clock
                changes.

        Returns:
            The number of deleted runs.
        """
        if self.rule == Retention():
            return 0
        now = clock.now() if now is None else now
        busy, used = self._shelf.in_use(), self._shelf.used()
        chosen = doomed(self._shelf.entries(), self.rule, now=now, used=used, busy=busy)
        return sum(self._delete(each) for each in chosen if not self._closing.is_set())

    def _delete(self, each: Doomed) -> bool:
        try:
            freed = self._shelf.expire(each.run)
        except RunError as error:  # in use, pinned, or not removable at the moment
            _log.warning("Run %s is not deleted: %s", each.run, error)
            return False
        _log.warning(
            "Run %s (%r) was deleted because %s; that freed %d bytes.",
            each.run, each.title[:80], each.why, freed,
        )  # fmt: skip
        return True

    def _keep(self) -> None:
        while True:
            try:
                self.tidy()
            except (OSError, StudioError):
                _log.exception("Old runs could not be looked for; it is tried again.")
            if self._closing.wait(_PAUSE):
                return
