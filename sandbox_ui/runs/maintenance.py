"""Background cleanup of runs: idle sandboxes, unused drafts, partial uploads."""

import logging
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from agent.errors import SandboxError, StudioError
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.util import clock
from agent.workspace.files import Workspace
from sandbox_ui.runs.registry import Registry

DRAFT_SECONDS = 7 * 24 * 3600.0
IDLE_SECONDS = 30 * 60.0
_PAUSE = 60.0
_log = logging.getLogger(__name__)


class Rests(Protocol):
    """Keeper of stopped sandboxes."""

    def tidy(self) -> None:
        """Remove sandboxes that have been stopped for too long.

        Raises:
            StudioError: if they cannot be removed now.
        """


class Housekeeping:
    """Maintains the runs of one data folder, once a minute.

    Args:
        data: The data folder.
        registry: The runs in use.
        computers: Keeper of stopped sandboxes.
        idle: Seconds after which the sandbox of an unused run is stopped.
    """

    def __init__(self, data: Path, registry: Registry, computers: Rests, idle: float) -> None:
        self._data = data
        self._registry = registry
        self._computers = computers
        self._idle = idle
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="housekeeping", daemon=True)

    def open(self) -> None:
        """Start the maintenance thread."""
        self._keeper.start()

    def close(self) -> None:
        """Start no further maintenance."""
        self._closing.set()

    def _keep(self) -> None:
        while not self._closing.wait(_PAUSE):
            try:
                self.tidy()
            except (OSError, StudioError):
                _log.exception("Tidying up failed; it is tried again in a minute.")

    def tidy(self, now: float | None = None) -> None:
        """Stop idle sandboxes; remove those stopped for too long, and unused drafts.

        Args:
            now: Seconds since the epoch; the default is the current time, protected against clock
                changes.
        """
        self._settle()
        self._rest(clock.steady() if now is None else now)
        self._computers.tidy()
        now = clock.now() if now is None else now
        for folder in RunFolder.all(self._data):
            self._tidy_disk(folder, now)
            old = now - folder.created > DRAFT_SECONDS and folder.id not in self._registry
            if old and not folder.journal.exists():
                self._remove(folder)

    def _settle(self) -> None:
        """Complete the journals of rounds that a full disk left open."""
        for recorded in [run.recorded for run in self._registry.all() if not run.working]:
            if recorded is not None:
                with suppress(OSError):
                    recorded.settle()

    def _rest(self, now: float) -> None:
        for run in [each for each in self._registry.all() if now - each.used > self._idle]:
            run.rest()
            with self._registry.lock:
                unused = run.recorded is None and now - run.used > self._idle
                if unused and not run.feed.followed:
                    self._registry.forget(run.folder.id)

    def _tidy_disk(self, folder: RunFolder, now: float) -> None:
        """Remove abandoned uploads; detach the disk of an unused run."""
        if not volume.attached(folder.sandbox_folder):
            return
        with suppress(OSError, SandboxError):
            Workspace(folder.workspace).staging.tidy(now, alone=False)
        with self._registry.lock:
            if folder.id not in self._registry:
                volume.detach(folder.sandbox_folder, idle=True)

    def _remove(self, folder: RunFolder) -> None:
        self._registry.forget(folder.id)
        volume.discard(folder.sandbox_folder)
        shutil.rmtree(folder.path, ignore_errors=True)
