"""The base class of the managers of comparisons and of evaluations: groups of runs."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from agent.errors import QuotaExceeded, RunActive, RunError, RunPinned
from agent.experiments.description import title_of
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.scoring import judge_access
from agent.grading.checks import JudgeAccess
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.compare.cells import Place
from sandbox_ui.compare.definition import continued
from sandbox_ui.compare.execution import Execution
from sandbox_ui.compare.registry import ExperimentRegistry
from sandbox_ui.compare.request import Participants, ResumeRequest
from sandbox_ui.compare.starter import RunStarter
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.followers import Followers
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import model_for

_JOIN_SECONDS = 10.0


class GroupManager(ABC):
    """Carries out, changes and deletes comparisons, or evaluations. Thread-safe.

    Args:
        registry: The comparisons or the evaluations of a data folder.

    Attributes:
        followers: Who is told when something about one of them changes.
    """

    max_running: ClassVar[int]
    """How many groups one user may have in progress; each occupies a thread."""

    def __init__(
        self,
        registry: ExperimentRegistry,
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
        self._judges: dict[str, JudgeAccess] = {}
        self._lock = threading.RLock()

    def close(self) -> None:
        """Start no further runs; call before the live runs are closed."""
        for execution in self._running():
            execution.close(_JOIN_SECONDS)

    def is_running(self, group: str) -> bool:
        """Return whether runs of a group are in progress or will be started."""
        return group in self._executions

    def rename(self, group: str, title: str) -> str:
        """Change a group's title, or restore the default if it is empty; return the new title."""
        folder = self._own_folder(group)
        folder.set_title(title)
        self._forget(group)
        self.followers.notify(group)
        return title_of(folder)

    def pin(self, group: str, pinned: bool) -> bool:
        """Pin or unpin a group and its runs; return the new state. Pinned ones are not deleted."""
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
    def create(self, request: Any, user: User) -> str:
        """Start an experiment; return its id. The draft with its inputs is deleted."""

    @abstractmethod
    def describe(self, group: str) -> dict[str, Any]:
        """Return an experiment as JSON values, for its owner. Raises ``RunError``."""

    @abstractmethod
    def stop(self, group: str) -> None:
        """Stop all runs, and start no more of them. Raises ``RunError``."""

    @abstractmethod
    def resume(self, group: str, request: ResumeRequest, user: User) -> None:
        """Start the runs that are missing, were stopped or were interrupted."""

    @abstractmethod
    def _forget(self, group: str) -> None:
        """Forget what is cached of a group, which has changed or was deleted."""

    @abstractmethod
    def _ended(self, folder: ExperimentFolder) -> None:
        """Called when all runs of an execution have ended; it is no longer registered."""

    def _continue(
        self, folder: ExperimentFolder, planned: Sequence[Key], request: ResumeRequest, user: User
    ) -> None:
        """Resume an experiment: carry out further runs.

        Args:
            user: The user on whose behalf the endpoints are used.

        Raises:
            StudioError: if a member has no model, or a quota or another limit is reached.
        """
        definition, text = folder.definition, folder.text_of(0)
        participants = continued(
            text, definition.members, definition.judging, request, self._settings, user
        )
        self._require_capacity(folder.owner)
        self._runs.admission.check_start(folder.owner, text)
        self._carry_out(folder, planned, participants, user)

    def _carry_out(
        self,
        folder: ExperimentFolder,
        planned: Sequence[Key],
        participants: Participants,
        user: User,
    ) -> None:
        """Start the planned runs in the background, and score ended runs that have no score."""
        starter = RunStarter(
            folder=folder, cells=self.registry.cells(folder.id), participants=participants,
            user=user, runs=self._runs, catalog=self._catalog, settings=self._settings,
            on_recorded=lambda place: self._refresh(folder.id, [place]),
        )  # fmt: skip
        access = participants.judge
        model = model_for(access, self._settings, user) if access else None
        judge = judge_access(folder.definition.judging, model)
        execution = self._register(folder, planned, starter)
        if judge is not None:
            self._judges[folder.id] = judge
        self._begin(folder)
        execution.begin()
        self._refresh(folder.id, ())

    @abstractmethod
    def _begin(self, folder: ExperimentFolder) -> None:
        """Called before an execution begins, when it is registered."""

    @abstractmethod
    def _refresh(self, group: str, places: Collection[Place]) -> None:
        """Take over that cells have changed, and notify the followers."""

    def _register(
        self, folder: ExperimentFolder, planned: Iterable[Key], starter: RunStarter
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

    def _unregister(self, folder: ExperimentFolder, execution: Execution) -> None:
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

    def _own_folder(self, group: str) -> ExperimentFolder:
        """Return a group's folder. Raises ``RunActive`` if another process uses it."""
        return self.registry.folder(group)

    def _idle_folder(self, group: str, *, advice: str = "") -> ExperimentFolder:
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
