"""Automatic deletion of expired runs; see ``agent.history.retention``."""

import logging
import threading

from agent.errors import RunError, StudioError
from agent.history.retention import GRACE_SECONDS, Expired, Retention, select_expired
from agent.util import clock
from sandbox_ui.history.catalog import Catalog

_INTERVAL_SECONDS = 300.0
_JOIN_TIMEOUT_SECONDS = 10.0
_log = logging.getLogger(__name__)


class ExpiryJob:
    """Deletes expired runs in the background."""

    def __init__(self, catalog: Catalog, rule: Retention) -> None:
        self.rule = rule
        self._catalog = catalog
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def open(self) -> None:
        """Start the background thread; call after the live runs are opened."""
        self._thread.start()

    def close(self) -> None:
        """Stop; a deletion in progress is completed."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT_SECONDS)

    def run_once(self, now: float | None = None) -> int:
        """Delete the runs that have expired, whatever the clock does; return their number."""
        if self.rule == Retention():
            return 0
        now = clock.now() if now is None else now
        sizes = self._catalog.history.size_by_owner()
        expired_runs = select_expired(
            self._catalog.history.deletable(now - GRACE_SECONDS),
            self.rule,
            now=now,
            used=self._catalog.used_bytes(),
            used_by_owner={owner: size for owner, (_, size) in sizes.items()},
            busy=self._catalog.in_use(),
        )
        return sum(self._delete(each) for each in expired_runs if not self._closing.is_set())

    def _delete(self, expired: Expired) -> bool:
        try:
            freed = self._catalog.delete_expired(expired.run)
        except RunError as error:  # in use, pinned, or not removable at the moment
            _log.warning("Run %s was not deleted: %s", expired.run, error)
            return False
        _log.warning(
            "Run %s (%r) was deleted because %s; %d bytes were freed.",
            expired.run, expired.title[:80], expired.reason, freed,
        )  # fmt: skip
        return True

    def _run(self) -> None:
        while True:
            try:
                self.run_once()
            except (OSError, StudioError):
                _log.exception("The search for expired runs failed; it will be repeated.")
            if self._closing.wait(_INTERVAL_SECONDS):
                return
