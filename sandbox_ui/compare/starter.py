"""Start one run of a comparison as an ordinary run: same queue, quota and limits."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic

from agent.errors import StudioError
from agent.experiments.folder import ExperimentFolder
from agent.settings import Settings
from agent.util.cancellation import Stop
from agent.workspace.files import Workspace
from sandbox_ui.auth.user import User
from sandbox_ui.compare.inputs import InputStore
from sandbox_ui.compare.registry import Folder
from sandbox_ui.compare.request import Participants
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunService, prepare


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to start: repetition ``repetition`` (from 1) by a member; of a task, if several."""

    member: int
    repetition: int
    task: int = 0


@dataclass(frozen=True, kw_only=True)
class RunStarter(ABC, Generic[Folder]):
    """Starts the runs of one comparison or evaluation, and stops and deletes them.

    Attributes:
        folder: The comparison or evaluation.
        participants: The requests of its members, with keys.
        user: The user on whose behalf the endpoints are used.
        runs: The live runs.
        catalog: The catalog of all runs.
        settings: The operator's settings.
    """

    folder: Folder
    participants: Participants
    user: User
    runs: RunManager
    catalog: Catalog
    settings: Settings

    @property
    def service(self) -> RunService:
        """What starts the runs."""
        return RunService(self.runs, self.settings)

    @property
    def max_active(self) -> int:
        """How many runs may be in progress at the same time: as many as the queue lets."""
        return self.runs.admission.queue.max_active_of(self.folder.owner)

    def examine_models(
        self, _members: Collection[int], _stop: Stop, _on_test: Callable[[Sequence[int]], None]
    ) -> Mapping[int, str]:
        """Test the models of members before their first run; see ``ensure_tested``.

        Only an evaluation does so: a comparison is a few runs, which show the same themselves.
        """
        return {}

    def prepare(self, planned: PlannedRun) -> str:
        """Create a draft with the run's inputs; return its id.

        Raises:
            StudioError: if it cannot be created; nothing is left of it.
        """
        with (
            self.catalog.new_draft(self.folder.owner, self.folder.id) as run,
            self.runs.locked_workspace(run) as workspace,
        ):
            self.write_inputs(planned, workspace)
        return run

    @abstractmethod
    def write_inputs(self, planned: PlannedRun, workspace: Workspace) -> None:
        """Write the documents of a run into its workspace. Raises ``StudioError``."""

    @abstractmethod
    def start(self, run: str, planned: PlannedRun) -> None:
        """Start a prepared run; the earlier run of this repetition becomes independent.

        A run that cannot be started stays a draft, which is replaced when the group is resumed.

        Raises:
            StudioError: if it cannot be started.
            OSError: if it cannot be recorded; the run is deleted then.
        """

    def record(self, run: str, earlier: str | None, add: Callable[[], object]) -> None:
        """Record a run in place of an earlier one, which becomes independent.

        Args:
            run: The prepared run.
            earlier: The earlier run of its repetition, if any.
            add: Adds the run to the list in the folder.

        Raises:
            OSError: if it cannot be recorded; the run is deleted then.
        """
        if earlier is not None:
            self.catalog.release(earlier)
        try:
            add()
        except OSError:
            self.discard(run)
            raise

    def stop(self, run: str) -> None:
        """Request a run to stop; do nothing if it was deleted."""
        with suppress(StudioError):
            self.runs.stop(run)

    def discard(self, run: str) -> None:
        """Delete a run that has not started."""
        self.catalog.discard_draft(run)


@dataclass(frozen=True, kw_only=True)
class ComparisonStarter(RunStarter[ExperimentFolder]):
    """Starts the runs of a comparison."""

    def write_inputs(self, _planned: PlannedRun, workspace: Workspace) -> None:
        """Copy the comparison's inputs, the same for all of its runs."""
        InputStore(self.folder.path).give(workspace, self.folder.definition.inputs)

    def start(self, run: str, planned: PlannedRun) -> None:
        """Start a prepared run; see ``RunStarter``."""
        asked = self.participants.members[planned.member].for_task(self.folder.definition.task)
        prepared = prepare(asked, self.settings, self.user)
        key = 0, planned.member, planned.repetition
        earlier = self.folder.run_at(key)
        self.record(run, earlier.run if earlier else None, lambda: self.folder.add_run(*key, run))
        self.service.begin(run, prepared)
