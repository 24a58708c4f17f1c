"""Start one run of an experiment as an ordinary run: same queue, quota and limits."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.errors import StudioError
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.setup import set_up
from agent.models.passport.ensure import ensure_tested
from agent.settings import Settings
from agent.tasks.setup import write_files
from agent.util.stop import Stop
from sandbox_ui.auth.user import User
from sandbox_ui.compare.cells import Cells, Place
from sandbox_ui.compare.inputs import InputStore
from sandbox_ui.compare.request import Participants
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunService, model_for, prepare


@dataclass(frozen=True, kw_only=True)
class RunStarter:
    """Starts the runs of one experiment, and stops and deletes them.

    Attributes:
        user: The user on whose behalf the endpoints are used.
        on_recorded: Called with a run's cell when the run was started, or could not be.
    """

    folder: ExperimentFolder
    cells: Cells
    participants: Participants
    user: User
    runs: RunManager
    catalog: Catalog
    settings: Settings
    on_recorded: Callable[[Place], None] = lambda _: None

    @property
    def max_active(self) -> int:
        """How many runs may be in progress: as the queue lets, and an evaluation asks."""
        allowed = self.runs.admission.queue.max_active_of(self.folder.owner)
        definition = self.folder.definition
        return min(definition.concurrency, allowed) if definition.suites else allowed

    def examine_models(
        self, members: Collection[int], stop: Stop, on_test: Callable[[Sequence[int]], None]
    ) -> Mapping[int, str]:
        """Test the models of members before their first run; see ``ensure_tested``.

        Only an evaluation does so: a comparison is a few runs, which show the same themselves.
        """
        if not self.folder.definition.suites:
            return {}
        text, models = self.folder.text_of(0), {}
        for member in members:
            with suppress(StudioError):  # the first run reports it
                request = self.participants.members[member].for_task(text)
                models[member] = model_for(request, self.settings, self.user)
        return ensure_tested(models, stop, on_test)

    def prepare(self, key: Key) -> str:
        """Create a draft with the run's inputs; return its id."""
        definition = self.folder.definition
        with (
            self.catalog.new_draft(self.folder.owner, self.folder.id) as run,
            self.runs.locked_workspace(run) as workspace,
        ):
            if definition.suites:
                task = self.folder.tasks[key[0]]
                write_files(task.id, task.inputs, workspace)
            else:
                InputStore(self.folder.path).give(workspace, definition.inputs)
        return run

    def start(self, run: str, key: Key) -> None:
        """Start a prepared run; the earlier run of this repetition becomes independent.

        A run that cannot be started stays a draft, which is replaced on resuming.
        """
        task, member, _ = key
        request = self.participants.members[member]
        spec = set_up(self.folder, task, request.spec, self.settings)
        prepared = prepare(replace(request, spec=spec), self.settings, self.user)
        self._record(run, key)
        try:
            RunService(self.runs, self.settings).begin(run, prepared)
        finally:
            self.on_recorded((task, member))

    def _record(self, run: str, key: Key) -> None:
        earlier = self.cells.entry_at(*key)
        if earlier is not None:
            self.catalog.release(earlier.run)
        try:
            self.cells.add_run(*key, run)
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
