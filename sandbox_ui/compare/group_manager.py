"""The base class of the managers of comparisons and of evaluations: groups of runs."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Generic

from agent.errors import QuotaExceeded, RunActive, RunError, RunPinned
from agent.experiments.experiment import Judge, Member
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.compare.definition import continued
from sandbox_ui.compare.execution import Execution
from sandbox_ui.compare.registry import Folder, GroupRegistry
from sandbox_ui.compare.request import Participants, ResumeRequest
from sandbox_ui.compare.starter import PlannedRun, RunStarter
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.followers import Followers
from sandbox_ui.runs.manager import RunManager

_JOIN_SECONDS = 10.0


class GroupManager(ABC, Generic[Folder]):
    """Carries out, changes and deletes comparisons, or evaluations. Thread-safe.

    Args:
        registry: The comparisons or the evaluations of a data folder.
        runs: The live runs.
        catalog: The catalog of all runs.
        settings: The operator's settings.

    Attributes:
        registry: The comparisons or the evaluations.
        followers: Who is told when something about one of them changes.
    """

    max_running: ClassVar[int]
    """How many groups one user may have in progress; each occupies a thread."""

    def __init__(
        self,
        registry: GroupRegistry[Folder],
        runs: RunManager,
        catalog: Catalog,
        settings: Settings,
    ) -> None:
        self.registry = registry
        self.followers = Followers()
        self._runs = runs
        self._catalog = catalog
        self._settings = settings
        self._noun = registry.kind
        self._executions: dict[str, Execution] = {}
        self._reasons: dict[str, str] = {}
        self._lock = threading.RLock()

    def close(self) -> None:
        """Start no further runs; call before the live runs are closed."""
        for execution in self._running():
            execution.close(_JOIN_SECONDS)

    def is_running(self, group: str) -> bool:
        """Return whether runs of a group are in progress or will be started."""
        return group in self._executions

    def rename(self, group: str, title: str) -> str:
        """Change a group's title, or restore the default if it is empty; return the new title.

        Raises:
            RunError: if the group does not exist.
        """
        folder = self._own_folder(group)
        folder.set_title(title)
        self._forget(group)
        self.followers.notify(group)
        return self._title_of(folder)

    def pin(self, group: str, pinned: bool) -> bool:
        """Pin or unpin a group and its runs; return the new state. Pinned ones are not deleted.

        Raises:
            RunError: if the group does not exist.
        """
        folder = self._own_folder(group)
        for run in self.registry.run_ids(group):
            with suppress(RunError):  # it was deleted
                self._catalog.pin(run, pinned)
        folder.set_pinned(pinned)
        self._forget(group)
        self.followers.notify(group)
        return folder.pinned

    def delete(self, group: str, *, with_runs: bool = False) -> int:
        """Delete a group; its runs become independent unless they are deleted with it.

        Args:
            group: Its id.
            with_runs: Also delete the runs that it started.

        Returns:
            The bytes freed by deleted runs.

        Raises:
            RunActive: if the group is in progress.
            RunPinned: if the group or a run to delete is pinned.
            RunError: if the group does not exist, or the group or a run cannot be deleted.
        """
        folder = self._idle_folder(group, advice=" Stop it first.")
        if folder.pinned:
            raise RunPinned(f"This {self._noun} is pinned. Unpin it, then delete it.")
        own = [run for run in self.registry.run_ids(group) if self._belongs(run, group)]
        freed = 0
        if with_runs:
            freed = self._catalog.delete(own) if own else 0
        else:
            for run in own:
                self._catalog.release(run)
        try:
            self.registry.delete(group)
        except OSError as error:
            raise RunError(f"The {self._noun} cannot be deleted: {error.strerror}.") from error
        self._forget(group)
        self._reasons.pop(group, None)
        self.followers.notify(group)
        return freed

    @abstractmethod
    def _title_of(self, folder: Folder) -> str: ...

    @abstractmethod
    def _forget(self, group: str) -> None:
        """Forget what is cached of a group, which has changed or was deleted."""

    @abstractmethod
    def _carry_out(
        self,
        folder: Folder,
        planned: Sequence[PlannedRun],
        participants: Participants,
        user: User,
    ) -> None:
        """Start the planned runs in the background, and score ended runs that have no score."""

    @abstractmethod
    def _ended(self, folder: Folder) -> None:
        """Called when all runs of an execution have ended; it is no longer registered."""

    def _continue(
        self,
        folder: Folder,
        planned: Sequence[PlannedRun],
        text: str,
        judge: Judge | None,
        request: ResumeRequest,
        user: User,
    ) -> None:
        """Resume a group: carry out further runs.

        Args:
            folder: The group's folder.
            planned: The runs to start.
            text: The text of one of its tasks, with which the models are checked.
            judge: Its judge.
            request: The API keys, which are not stored.
            user: The user on whose behalf the endpoints are used.

        Raises:
            StudioError: if a member has no model, or a quota or another limit is reached.
        """
        members: Sequence[Member] = folder.definition.members
        participants = continued(text, members, judge, request, self._settings, user)
        self._require_capacity(folder.owner)
        self._runs.admission.check_start(folder.owner, text)
        self._carry_out(folder, planned, participants, user)

    def _register(
        self, folder: Folder, planned: Iterable[PlannedRun], starter: RunStarter[Any]
    ) -> Execution:
        """Register and return an execution that has not begun; it is unregistered when it ends."""
        execution = Execution(
            f"{self._noun} {folder.id}",
            folder.definition.members,
            planned,
            starter,
            lambda: self.followers.notify(folder.id),
            lambda ended: self._unregister(folder, ended),
        )
        with self._lock:
            if folder.id in self._executions:
                raise RunActive(f"This {self._noun} is in progress.")
            self._executions[folder.id] = execution
            self._reasons.pop(folder.id, None)
        folder.set_stopped(False)
        return execution

    def _unregister(self, folder: Folder, execution: Execution) -> None:
        with self._lock:
            del self._executions[folder.id]
            if execution.reason:
                self._reasons[folder.id] = execution.reason
        self._ended(folder)

    def _reason(self, group: str) -> str:
        """Return why runs could not be started; empty if none failed to start."""
        execution = self._executions.get(group)
        return execution.reason if execution else self._reasons.get(group, "")

    def _running(self) -> list[Execution]:
        with self._lock:
            return list(self._executions.values())

    def _own_folder(self, group: str) -> Folder:
        """Return a group's folder. Raises ``RunActive`` if another process uses it."""
        return self.registry.folder(group)

    def _idle_folder(self, group: str, *, advice: str = "") -> Folder:
        """Return a group's folder. Raises ``RunActive``, with advice, if it is in progress."""
        folder = self._own_folder(group)
        if self.is_running(group):
            raise RunActive(f"This {self._noun} is in progress.{advice}")
        return folder

    def _belongs(self, run: str, group: str) -> bool:
        """Return whether a run exists and belongs to a group."""
        try:
            return self._runs.peek_folder(run).comparison == group
        except RunError:
            return False

    def _require_capacity(self, owner: str) -> None:
        with self._lock:
            running = list(self._executions)
        if sum(self.registry.folder(each).owner == owner for each in running) >= self.max_running:
            raise QuotaExceeded(
                f"{self.max_running} of your {self._noun}s are in progress. Wait until one has "
                "ended, or stop one."
            )
