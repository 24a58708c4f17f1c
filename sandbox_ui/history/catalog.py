"""Catalog of all runs in the data folder: list, rename, pin, delete."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent.errors import RunError, RunPinned, StudioError
from agent.history.adopt_cli_runs import move_cli_runs
from agent.history.deletion import RunDeleter
from agent.history.index import History, HistoryEntry, HistoryPage
from agent.runs.folder import RUN_NOT_FOUND, RunFolder
from agent.workspace.versions.blobs import BlobStore
from sandbox_ui.history.disk_usage import draft_sizes, with_measured_size
from sandbox_ui.history.drafts import Draft, DraftCache
from sandbox_ui.runs.manager import RunManager, RunSandboxProvider

_JOIN_TIMEOUT_SECONDS = 10.0
_log = logging.getLogger(__name__)


class Catalog:
    """Runs of one data folder; this process holds the folder's lock.

    Args:
        data: The data folder.
        runs: The live runs.
        provider: Provider of the sandboxes.
    """

    def __init__(self, data: Path, runs: RunManager, provider: RunSandboxProvider) -> None:
        self._data = data
        self._runs = runs
        self._blobs: BlobStore = provider.blobs
        self._history = History(data, runs.active_runs)
        self._drafts = DraftCache(data)
        self._deleter = RunDeleter(data, provider.blobs, provider.empty_workspace)
        self._closing = threading.Event()
        self._summary_thread = threading.Thread(
            target=self._write_summaries, name="summaries", daemon=True
        )

    def open(self) -> None:
        """Finish interrupted work; call before the live runs are opened."""
        self._deleter.delete_leftovers()
        move_cli_runs(self._data, self._blobs, ended=False)

    def start_summaries(self) -> None:
        """Write missing summaries in the background; call after the live runs are opened."""
        self._summary_thread.start()

    def close(self) -> None:
        """Stop the background work."""
        self._closing.set()
        if self._summary_thread.is_alive():
            self._summary_thread.join(_JOIN_TIMEOUT_SECONDS)

    def list(
        self,
        words: str = "",
        before: str = "",
        limit: int = 50,
        *,
        pinned: bool = False,
        owner: str | None = None,
    ) -> HistoryPage:
        """List the started runs, the command line's included; see ``History.page``.

        Raises:
            StudioError: if ``before`` is not a position in the list.
        """
        move_cli_runs(self._data, self._blobs)
        page = self._history.page(words, before, limit, pinned=pinned, owner=owner)
        return replace(page, versions=min(page.versions, self._blobs.size))

    def drafts(self, words: str = "", owner: str | None = None) -> Sequence[Draft]:
        """List runs that have not started, newest first.

        Args:
            words: Return only drafts whose first file names contain all of these words.
            owner: Return only this user's drafts; None for all users'.
        """
        terms = words.casefold().split()
        return [
            draft
            for draft in self._drafts.for_owner(owner)
            if all(term in " ".join(draft.names).casefold() for term in terms)
        ]

    def rename(self, run_id: str, title: str) -> str:
        """Rename a run; empty restores the task's first line. Return the new title.

        Raises:
            RunError: if the run does not exist.
        """
        folder = self._runs.folder(run_id)
        folder.set_title(title)
        return self._history.title(folder)

    def pin(self, run_id: str, pinned: bool) -> bool:
        """Protect a run from automatic deletion, or end that; return the new state.

        Raises:
            RunError: if the run does not exist.
        """
        folder = self._runs.folder(run_id)
        folder.set_pinned(pinned)
        return folder.pinned

    def reclaimable_bytes(self, run_ids: Sequence[str]) -> int:
        """Return the bytes on disk that deleting these runs would free now.

        Raises:
            RunError: if a run does not exist.
        """
        return self._deleter.freed_bytes(self._require_existing(run_ids))

    def delete(self, run_ids: Sequence[str]) -> int:
        """Delete runs with their journals, files and sandboxes.

        Returns:
            The bytes freed on disk.

        Raises:
            RunActive: if a run has a round in progress; none is deleted.
            RunPinned: if a run is pinned; none is deleted.
            RunError: if a run does not exist, or its files cannot be removed.
        """
        with self._runs.blocked_for_deletion(self._require_existing(run_ids)) as idle:
            for run in idle:
                self._require_unpinned(run)
            return self._deleter.delete(idle)

    def entries(self, owner: str | None = None) -> Sequence[HistoryEntry]:
        """Return all started runs, or one user's, newest first; see ``History.entries``."""
        return self._history.entries(owner)

    def unreadable(self) -> dict[str, int]:
        """Return the runs with damaged journals; see ``History.unreadable``."""
        return self._history.unreadable()

    def in_use(self) -> set[str]:
        """Return the runs that have a round in progress or followers."""
        return self._runs.in_use()

    def used_bytes(self, owner: str | None = None) -> int:
        """Return the bytes on disk of all runs, or one user's, from the catalog."""
        return self._total_bytes(self.entries(owner))

    def measured_bytes(self, owner: str) -> int:
        """Return ``used_bytes`` plus the measured size of a user's drafts and active runs."""
        entries = [with_measured_size(self._data, entry) for entry in self.entries(owner)]
        return self._total_bytes(entries) + sum(draft_sizes(self._data, owner))

    def _total_bytes(self, entries: Sequence[HistoryEntry]) -> int:
        summaries = [entry.summary for entry in entries if entry.summary]
        versions = sum(each.versions for each in summaries)
        return sum(each.size for each in summaries) - versions + min(versions, self._blobs.size)

    def delete_expired(self, run_id: str) -> int:
        """Delete an expired run, unless it is in use or pinned.

        Returns:
            The bytes freed on disk.

        Raises:
            RunError: if the run is not deleted.
        """
        with self._runs.blocked_for_deletion([run_id], refuse_followed=True) as idle:
            self._require_unpinned(run_id)
            return self._deleter.delete(idle)

    def _require_unpinned(self, run: str) -> None:
        try:
            folder = RunFolder.open(self._data, run)
        except RunError:
            return  # an unreadable run cannot be pinned
        if folder.pinned:
            raise RunPinned(f"“{self._history.title(folder)}” is pinned. Unpin it, then delete it.")

    def _require_existing(self, run_ids: Sequence[str]) -> Sequence[str]:
        unique = list(dict.fromkeys(run_ids))
        if not unique or not set(RunFolder.ids(self._data)).issuperset(unique):
            raise RunError(RUN_NOT_FOUND)
        return unique

    def _write_summaries(self) -> None:
        """Write summaries that an older version or a killed process left missing."""
        try:
            for _ in self._history.derive_missing():
                if self._closing.is_set():
                    return
        except (OSError, StudioError):
            _log.exception(
                "Some runs were not summarised; they are summarised when they are listed."
            )
