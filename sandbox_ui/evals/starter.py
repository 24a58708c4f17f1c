"""Start one run of an evaluation as an ordinary run: same queue, quota and limits."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.errors import StudioError
from agent.experiments.folder import ExperimentFolder
from agent.experiments.setup import set_up
from agent.models.passport.ensure import ensure_tested
from agent.tasks.setup import write_files
from agent.util.cancellation import Stop
from agent.workspace.files import Workspace
from sandbox_ui.compare.starter import PlannedRun, RunStarter
from sandbox_ui.evals.cells import Cells, Place
from sandbox_ui.runs.service import model_for, prepare


@dataclass(frozen=True, kw_only=True)
class EvaluationStarter(RunStarter[ExperimentFolder]):
    """Starts the runs of an evaluation.

    Attributes:
        cells: Its cells.
        on_recorded: Called with a run's cell when the run was started, or could not be.
    """

    cells: Cells
    on_recorded: Callable[[Place], None]

    @property
    def max_active(self) -> int:
        """How many runs may be in progress: as was asked, and as many as the queue lets."""
        return min(self.folder.definition.concurrency, super().max_active)

    def examine_models(
        self, members: Collection[int], stop: Stop, on_test: Callable[[Sequence[int]], None]
    ) -> Mapping[int, str]:
        """Test the models of members that were not tested yet; see ``ensure_tested``."""
        text, models = self.folder.tasks[0].text, {}
        for member in members:
            with suppress(StudioError):  # the first run reports it
                request = self.participants.members[member].for_task(text)
                models[member] = model_for(request, self.settings, self.user)
        return ensure_tested(models, stop, on_test)

    def write_inputs(self, planned: PlannedRun, workspace: Workspace) -> None:
        """Write the documents of a run's task."""
        task = self.folder.tasks[planned.task]
        write_files(task.id, task.inputs, workspace)

    def start(self, run: str, planned: PlannedRun) -> None:
        """Start a prepared run; see ``RunStarter``."""
        request = self.participants.members[planned.member]
        spec = set_up(self.folder, planned.task, request.spec, self.settings)
        prepared = prepare(replace(request, spec=spec), self.settings, self.user)
        key = planned.task, planned.member, planned.repetition
        earlier = self.cells.entry_at(*key)
        self.record(run, earlier.run if earlier else None, lambda: self.cells.add_run(*key, run))
        try:
            self.service.begin(run, prepared)
        finally:
            self.on_recorded((planned.task, planned.member))
