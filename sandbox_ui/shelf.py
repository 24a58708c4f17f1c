"""All runs of the data folder, those at work and those of last year: listed, named, deleted."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent.adoption import adopt
from agent.errors import RunError, RunPinned, StudioError
from agent.folder import NO_RUN, RunFolder
from agent.history import Entry, History, Page
from agent.removal import Removal
from agent.workspace.blobs import BlobStore
from sandbox_ui.measuring import drafts, measured
from sandbox_ui.runs import Computers, Runs

_PATIENCE = 10.0
_log = logging.getLogger(__name__)


class Shelf:
    """The runs of one data folder, which this process holds.

    Args:
        data: The data folder.
        runs: Those of them that are in use.
        computers: What their sandboxes come from.
    """

    def __init__(self, data: Path, runs: Runs, computers: Computers) -> None:
        self._data = data
        self._runs = runs
        self._blobs: BlobStore = computers.blobs
        self._history = History(data, runs.at_work)
        self._removal = Removal(data, computers.blobs, computers.empty)
        self._closing = threading.Event()
        self._filler = threading.Thread(target=self._fill, name="summaries", daemon=True)

    def open(self) -> None:
        """Finish what an earlier process left half done; before the runs are opened."""
        self._removal.finish()
        adopt(self._data, self._blobs, ended=False)

    def begin_summaries(self) -> None:
        """Summarise in the background what has no summary yet; after the runs are opened."""
        self._filler.start()

    def close(self) -> None:
        """End what is done in the background."""
        self._closing.set()
        if self._filler.is_alive():
            self._filler.join(_PATIENCE)

    def list(
        self,
        words: str = "",
        before: str = "",
        most: int = 50,
        *,
        pinned: bool = False,
        owner: str | None = None,
    ) -> Page:
        """The runs that have begun, those of the command line too; see ``History.page``.

        Raises:
            StudioError: ``before`` is no place in the list.
        """
        adopt(self._data, self._blobs)
        page = self._history.page(words, before, most, pinned=pinned, owner=owner)
        return replace(page, versions=min(page.versions, self._blobs.size))

    def rename(self, run_id: str, title: str) -> str:
        """Call a run so, as its task begins if empty; what it is called then.

        Raises:
            RunError: there is no such run.
        """
        folder = self._runs.folder(run_id)
        folder.rename(title)
        return self._history.title(folder)

    def pin(self, run_id: str, pinned: bool) -> bool:
        """Keep a run whatever its age and size, or let it go as others do; what it is then.

        Raises:
            RunError: there is no such run.
        """
        folder = self._runs.folder(run_id)
        folder.pin(pinned)
        return folder.pinned

    def frees(self, run_ids: Sequence[str]) -> int:
        """The bytes on disk that deleting these runs frees at this moment.

        Raises:
            RunError: there is no such run.
        """
        return self._removal.frees(self._checked(run_ids))

    def delete(self, run_ids: Sequence[str]) -> int:
        """Delete runs: their records, their files, their sandboxes.

        Returns:
            The bytes on disk that this freed.

        Raises:
            RunAtWork: one of them is at work; none is deleted.
            RunPinned: one of them is pinned; none is deleted.
            RunError: there is no such run, or its files cannot be removed.
        """
        with self._runs.withdrawn(self._checked(run_ids)) as idle:
            for run in idle:
                self._refuse_pinned(run)
            return self._removal.remove(idle)

    def entries(self, owner: str | None = None) -> Sequence[Entry]:
        """All runs that have begun, or one person's, newest first; see ``History.entries``."""
        return self._history.entries(owner)

    def in_use(self) -> set[str]:
        """The runs that somebody works in or looks at."""
        return self._runs.in_use()

    def used(self, owner: str | None = None) -> int:
        """The bytes on disk that all runs take, or one person's, as known from their lists."""
        return self._taken(self.entries(owner))

    def used_now(self, owner: str) -> int:
        """``used``, with what a person's drafts and runs at work take; those are looked at."""
        entries = [measured(self._data, entry) for entry in self.entries(owner)]
        return self._taken(entries) + sum(drafts(self._data, owner))

    def _taken(self, entries: Sequence[Entry]) -> int:
        known = [entry.summary for entry in entries if entry.summary]
        versions = sum(each.versions for each in known)
        return sum(each.size for each in known) - versions + min(versions, self._blobs.size)

    def expire(self, run_id: str) -> int:
        """Delete a run that has been kept for long enough, unless somebody uses or keeps it.

        Returns:
            The bytes on disk that this freed.

        Raises:
            RunError: it stays.
        """
        with self._runs.withdrawn([run_id], unseen=True) as idle:
            self._refuse_pinned(run_id)
            return self._removal.remove(idle)

    def _refuse_pinned(self, run: str) -> None:
        try:
            folder = RunFolder.open(self._data, run)
        except RunError:
            return  # what cannot be read was pinned by nobody
        if folder.pinned:
            raise RunPinned(f"“{self._history.title(folder)}” is pinned. Unpin it, then delete it.")

    def _checked(self, run_ids: Sequence[str]) -> Sequence[str]:
        unique = list(dict.fromkeys(run_ids))
        if not unique or not set(RunFolder.ids(self._data)).issuperset(unique):
            raise RunError(NO_RUN)
        return unique

    def _fill(self) -> None:
        """Make the summaries that an older version, or a process that died, left to be made."""
        try:
            for _ in self._history.fill():
                if self._closing.is_set():
                    return
        except (OSError, StudioError):
            _log.exception("Not every run could be summarised; it is done when it is listed.")
