"""Start one run of an evaluation as an ordinary run: same queue, quota and limits."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agent.errors import StudioError
from agent.evals.folder import EvaluationFolder
from agent.evals.setup import RunSetup, set_up
from agent.limits import adapt_to_model
from agent.models.passport.ensure import ensure_tested
from agent.runs.recorded_run import Task
from agent.util.cancellation import Stop
from agent.workspace.files import Workspace
from sandbox_ui.compare.starter import PlannedRun, RunStarter
from sandbox_ui.evals.cells import Cells, Place
from sandbox_ui.runs import run_options


@dataclass(frozen=True, kw_only=True)
class EvaluationStarter(RunStarter[EvaluationFolder]):
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
                options = self.participants.members[member]
                models[member] = run_options.model_for(text, options, self.settings, self.user)
        return ensure_tested(models, stop, on_test)

    def write_inputs(self, planned: PlannedRun, workspace: Workspace) -> None:
        """Write the documents of a run's task."""
        self._setup(planned).write_inputs(workspace)

    def start(self, run: str, planned: PlannedRun) -> None:
        """Start a prepared run; see ``RunStarter``."""
        setup, options = self._setup(planned), self.participants.members[planned.member]
        model = run_options.model_for(setup.text, options, self.settings, self.user)
        key = planned.task, planned.member, planned.repetition
        earlier = self.cells.entry_at(*key)
        self.record(run, earlier.run if earlier else None, lambda: self.cells.add_run(*key, run))
        task = Task(setup.text, setup.prompt, setup.mode, setup.network)
        try:
            self.runs.start(run, task, model, adapt_to_model(setup.limits, model))
        finally:
            self.on_recorded((planned.task, planned.member))

    def _setup(self, planned: PlannedRun) -> RunSetup:
        suite, task = self.folder.suite_of[planned.task], self.folder.tasks[planned.task]
        member = self.folder.definition.members[planned.member]
        return set_up(suite, task, member, self.settings)
