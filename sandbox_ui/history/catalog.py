"""Catalog of all runs in the data folder: list, rename, pin, delete."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.data_folder import DataFolder
from agent.errors import RunError, RunPinned, StudioError
from agent.events import Annotation
from agent.experiments.folder import KINDS, ExperimentFolder
from agent.history.adopt_cli_runs import move_cli_runs
from agent.history.deletion import RunDeleter
from agent.history.family import Family, find_family
from agent.history.index import History, HistoryEntry, HistoryPage, HistoryTotals
from agent.runs.disk_usage import bytes_on_disk
from agent.runs.folder import RUN_NOT_FOUND, Parent, RunFolder
from agent.workspace.versions.blobs import BlobStore
from sandbox_ui.runs.drafts import Draft
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.sandbox_provider import StudioSandboxProvider

_RETRY_SECONDS = 30.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Relations:
    """The titles of listed runs' parents by id, and the ids of listed runs that have forks."""

    titles: Mapping[str, str] = field(default_factory=dict)
    forked: Collection[str] = ()


class Catalog:
    """Runs of one data folder, whose lock this process holds; the lists of them are for reading."""

    def __init__(self, data: Path, runs: RunManager, provider: StudioSandboxProvider) -> None:
        self._data = data
        self._runs = runs
        self._blobs: BlobStore = provider.blobs
        self._provider = provider
        self._failed: dict[Path, tuple[float, StudioError]] = {}  # when, and why leftovers stayed
        self.history = History(data, runs.active_runs, runs.own_changes, runs.end_interrupted_round)
        self.draft_list = runs.draft_list
        self._deleter = RunDeleter(
            data,
            provider.blobs,
            provider.empty_workspace,
            runs.own_changes,
            self.history.shared_contents,
        )
        self._deletion_listeners: list[Callable[[Sequence[str]], None]] = []
        runs.on_round_ended(self.history.indexer.changed)
        runs.on_user_version(self.history.indexer.changed)

    def on_deleted(self, listener: Callable[[Sequence[str]], None]) -> None:
        """Call a function, from any thread, with runs that were deleted."""
        self._deletion_listeners.append(listener)

    def open(self) -> None:
        """Finish interrupted work; call before the live runs are opened."""
        self._deleter.delete_leftovers()
        move_cli_runs(self._data, self._blobs, ended=False)

    def adopt(self) -> None:
        """Move the runs of processes of the command line that have ended to the data folder."""
        move_cli_runs(self._data, self._blobs, self._remove_leftovers)

    def _remove_leftovers(self, folder: DataFolder) -> None:
        """Remove a killed process's containers; after a failure, wait before the next attempt."""
        failed = self._failed.get(folder.path)
        if failed is not None and time.monotonic() < failed[0] + _RETRY_SECONDS:
            raise failed[1]
        try:
            self._provider.remove_leftovers(folder)
        except StudioError as error:
            _log.warning("Sandboxes of the command line cannot be removed: %s", error)
            self._failed[folder.path] = (time.monotonic(), error)
            raise
        self._failed.pop(folder.path, None)

    @contextmanager
    def new_draft(self, owner: str, group: str = "", parent: Parent | None = None) -> Iterator[str]:
        """Create a draft and yield its id; if the block fails, nothing is left of it."""
        run = self._runs.create_draft(owner, group, parent)
        try:
            yield run
        except BaseException:
            self.discard_draft(run)
            raise

    def discard_draft(self, run: str) -> None:
        """Delete a run if it has not started; do nothing if it cannot be deleted."""
        with suppress(StudioError, OSError):
            if not self._runs.has_started(run):
                self.delete([run])

    def release(self, run: str) -> None:
        """Detach a run from its comparison or evaluation; delete it if it has not started."""
        with suppress(StudioError, OSError):
            if self._runs.has_started(run):
                self._runs.folder(run).leave_comparison()
                self.history.indexer.changed(run)
            else:
                self.delete([run])

    def start_indexing(self) -> None:
        """Index runs in the background; call after the live runs are opened."""
        self.history.indexer.open()

    def close(self) -> None:
        """Stop the background work; call after the live runs are closed."""
        self.history.indexer.close()

    def list(
        self,
        words: str = "",
        before: str = "",
        limit: int = 50,
        *,
        pinned: bool = False,
        owner: str | None = None,
        folded: Collection[str] = (),
        only: Collection[str] | None = None,
    ) -> HistoryPage:
        """List the started runs, the command line's included; see ``History.page``."""
        self.adopt()
        page = self.history.page(
            words, before, limit, owner, pinned=pinned, folded=folded, only=only
        )
        return replace(page, versions=min(page.versions, self._blobs.size))

    def drafts(self, words: str = "", owner: str | None = None) -> Sequence[Draft]:
        """List a user's or all drafts with these words in file names, newest first."""
        terms = words.casefold().split()
        return [
            draft
            for draft in self.draft_list.for_owner(owner)
            if all(term in " ".join(draft.names).casefold() for term in terms)
        ]

    def family(self, run_id: str, may_view: Callable[[str], bool]) -> Family:
        """Return a run's family; see ``agent.history.family.find_family``."""
        return find_family(self.history, self._data, run_id, may_view)

    def relations(self, entries: Sequence[HistoryEntry], owner: str | None) -> Relations:
        """Return what is known of a user's or all users' parents and forks of listed runs."""
        parents = {entry.parent.run for entry in entries if entry.parent}
        found = self.history.entries(parents) if parents else []
        titles = {each.run: each.title for each in found if owner in (None, each.owner)}
        return Relations(titles, self.history.forked({entry.run for entry in entries}, owner))

    def title(self, run_id: str) -> str:
        """Return a run's title."""
        return self.history.title(self._runs.peek_folder(run_id))

    def rename(self, run_id: str, title: str) -> str:
        """Rename a run; empty restores the task's first line. Return the new title."""
        folder = self._runs.folder(run_id)
        folder.set_title(title)
        return self.history.title(folder)

    def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Add an annotation to a run's record; see ``RunManager.annotate``."""
        self._runs.annotate(run_id, annotation)
        self.history.indexer.changed(run_id)

    def pin(self, run_id: str, pinned: bool) -> bool:
        """Protect a run from automatic deletion, or end that; return the new state."""
        folder = self._runs.folder(run_id)
        folder.set_pinned(pinned)
        self.history.indexer.changed(run_id)
        return folder.pinned

    def reclaimable_bytes(self, run_ids: Sequence[str]) -> int:
        """Return the bytes on disk that deleting these runs would free now."""
        return self._deleter.freed_bytes(self._require_existing(run_ids))

    def delete(self, run_ids: Sequence[str]) -> int:
        """Delete runs; return the bytes freed. Raises ``RunActive`` or ``RunPinned`` before any."""
        with self._runs.blocked_for_deletion(self._require_existing(run_ids)) as idle:
            for run in idle:
                self._require_unpinned(run)
            return self._delete(idle)

    def _delete(self, run_ids: Sequence[str]) -> int:
        try:
            return self._deleter.delete(run_ids)
        finally:
            self.history.indexer.changed(*run_ids)
            for listener in self._deletion_listeners:
                listener(run_ids)

    def in_use(self) -> set[str]:
        """Return the runs that have a round in progress or followers."""
        return self._runs.in_use()

    def used_bytes(self, owner: str | None = None) -> int:
        """Return the bytes on disk of all runs, or one user's, from the catalog."""
        return self._total_bytes(self.history.totals(owner))

    def measured_bytes(self, owner: str) -> int:
        """Return ``used_bytes`` plus drafts, active runs and the inputs of experiments."""
        drafts = sum(self.draft_list.sizes(owner))
        totals = self.history.totals(owner, measured=True)
        return self._total_bytes(totals) + drafts + self._input_bytes(owner)

    def _input_bytes(self, owner: str) -> int:
        """Return the bytes of the inputs that a user's comparisons and evaluations keep."""
        total = 0
        for name in KINDS.values():
            for path in (self._data / name).glob("*/inputs"):
                with suppress(RunError):  # it is being deleted
                    if ExperimentFolder.open(self._data, path.parent.name).owner == owner:
                        total += bytes_on_disk(path)
        return total

    def _total_bytes(self, totals: HistoryTotals) -> int:
        return totals.size - totals.versions + min(totals.versions, self._blobs.size)

    def delete_expired(self, run_id: str) -> int:
        """Delete an expired run, unless it is in use or pinned; return the bytes freed on disk."""
        with self._runs.blocked_for_deletion([run_id], refuse_followed=True) as idle:
            self._require_unpinned(run_id)
            return self._delete(idle)

    def _require_unpinned(self, run: str) -> None:
        try:
            folder = RunFolder.open(self._data, run)
        except RunError:
            return  # an unreadable run cannot be pinned
        if folder.pinned:
            raise RunPinned(f"“{self.history.title(folder)}” is pinned. Unpin it, then delete it.")

    def _require_existing(self, run_ids: Sequence[str]) -> Sequence[str]:
        unique = list(dict.fromkeys(run_ids))
        if not unique or not all(RunFolder.exists(self._data, run) for run in unique):
            raise RunError(RUN_NOT_FOUND)
        return unique
