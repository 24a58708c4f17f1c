"""Background cleanup of runs: idle sandboxes, unused drafts, partial uploads."""

import itertools
import logging
import shutil
import threading
from contextlib import suppress
from pathlib import Path

from agent.errors import SandboxError, StudioError
from agent.runs.folder import RunFolder
from agent.sandbox.disk import volume
from agent.util import clock
from agent.workspace import tree
from agent.workspace.files import Workspace
from agent.workspace.paths import ROOT
from sandbox_ui.runs.drafts import DraftList
from sandbox_ui.runs.registry import Registry
from sandbox_ui.sandbox_provider import StudioSandboxProvider

DRAFT_SECONDS = 7 * 24 * 3600.0
IDLE_SECONDS = 30 * 60.0
_MAX_FILES = 20_000  # whose times are read in a draft without a disk image
_INTERVAL_SECONDS = 60.0
_log = logging.getLogger(__name__)


class Maintenance:
    """Maintains the runs of one data folder, once a minute."""

    def __init__(
        self,
        data: Path,
        registry: Registry,
        drafts: DraftList,
        sandboxes: StudioSandboxProvider,
        idle_seconds: float,
    ) -> None:
        self._data = data
        self._registry = registry
        self._drafts = drafts
        self._sandboxes = sandboxes
        self._idle_seconds = idle_seconds
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def open(self) -> None:
        """Start the maintenance thread."""
        self._thread.start()

    def close(self) -> None:
        """Start no further maintenance."""
        self._closing.set()

    def _run(self) -> None:
        while not self._closing.wait(_INTERVAL_SECONDS):
            try:
                self.run_once()
            except (OSError, StudioError):
                _log.exception("Maintenance failed; it will be repeated in a minute.")

    def run_once(self, now: float | None = None) -> None:
        """Stop idle sandboxes; remove those stopped for too long, and unused drafts."""
        self._complete_journals()
        self._stop_idle_sandboxes(clock.steady_time() if now is None else now)
        self._sandboxes.remove_expired()
        now = clock.now() if now is None else now
        self._clean_up_disks(now)
        for draft in self._drafts.folders():
            if self._is_expired(draft, now):
                self._delete_draft(draft)

    def _is_expired(self, draft: RunFolder, now: float) -> bool:
        """Return whether a draft is not in use, and its files have not changed for a week."""
        return (
            now - draft.created > DRAFT_SECONDS
            and not draft.comparison
            and draft.id not in self._registry
            and not draft.journal.exists()
            and now - _last_changed(draft) > DRAFT_SECONDS
        )

    def _complete_journals(self) -> None:
        """Complete the journals of rounds that a full disk left open."""
        for recorded in [run.recorded for run in self._registry.all() if not run.active]:
            if recorded is not None:
                with suppress(OSError):
                    recorded.write_pending_end()

    def _stop_idle_sandboxes(self, now: float) -> None:
        for run in self._registry.all():
            seconds = self._idle_seconds if run.idle else _INTERVAL_SECONDS
            if run.sandbox_seconds is not None:
                seconds = min(seconds, max(run.sandbox_seconds, _INTERVAL_SECONDS))
            if now - run.last_used <= seconds:
                continue
            run.stop_sandbox()
            with self._registry.lock:
                unused = run.recorded is None and now - run.last_used > seconds
                if unused and not run.feed.has_followers:
                    self._registry.forget(run.folder.id)

    def _clean_up_disks(self, now: float) -> None:
        """Remove abandoned uploads from attached disks; detach the disks of unused runs."""
        runs = {run.folder.sandbox_folder: run for run in self._registry.all()}
        for folder in {*volume.attached(self._data), *filter(volume.is_attached, runs)}:
            with suppress(OSError, SandboxError):
                Workspace(folder / "workspace").staging.clean_up(now, exclusive=False)
            if (run := runs.get(folder)) is not None:
                if clock.steady_time() - run.last_used > _INTERVAL_SECONDS:
                    run.detach_disk()
                continue
            with self._registry.lock:  # a run may have been registered meanwhile
                if all(folder != run.folder.sandbox_folder for run in self._registry.all()):
                    volume.detach(folder, idle=True)

    def _delete_draft(self, folder: RunFolder) -> None:
        self._registry.forget(folder.id)
        volume.discard(folder.sandbox_folder)
        shutil.rmtree(folder.path, ignore_errors=True)


def _last_changed(draft: RunFolder) -> float:
    """Return when a draft or one of its files last changed, in seconds since the epoch."""
    with suppress(FileNotFoundError):  # a draft on a disk image of its own
        return max(draft.created, volume.disk_image(draft.sandbox_folder).stat().st_mtime)
    times = [draft.created]
    with suppress(StudioError), Workspace(draft.workspace).open_root(ROOT) as root:
        for _, info in itertools.islice(tree.walk(root, ROOT), _MAX_FILES):
            if not isinstance(info, OSError):
                times.append(info.st_ctime)  # a file's mtime may be older than its upload
    return max(times)
