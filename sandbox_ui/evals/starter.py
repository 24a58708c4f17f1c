"""Start one run of an evaluation as an ordinary run: same queue, quota and limits."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.errors import StudioError
from agent.evals.folder import EvaluationFolder
from agent.evals.setup import RunSetup, set_up
from agent.limits import adapt_to_model
from agent.runs.recorded_run import Task
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.compare.request import Participants
from sandbox_ui.compare.starter import discard_draft, release_run
from sandbox_ui.evals.cells import Cells, Place
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs import run_options
from sandbox_ui.runs.manager import RunManager


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One run to start: repetition ``repetition`` (from 1) of a task by a member."""

    task: int
    member: int
    repetition: int


class EvaluationStarter:
    """Starts the runs of one evaluation, and stops and deletes them.

    Args:
        folder: The evaluation.
        cells: Its cells.
        participants: The options of its members, with keys.
        user: The user on whose behalf the endpoints are used.
        runs: The live runs.
        catalog: The catalog of all runs.
        settings: The operator's settings.
        on_recorded: Called with a run's cell when the run was started, or could not be.
    """

    def __init__(
        self,
        folder: EvaluationFolder,
        cells: Cells,
        participants: Participants,
        user: User,
        runs: RunManager,
        catalog: Catalog,
        settings: Settings,
        on_recorded: Callable[[Place], None],
    ) -> None:
        self._folder = folder
        self._cells = cells
        self._participants = participants
        self._user = user
        self._runs = runs
        self._catalog = catalog
        self._settings = settings
        self._on_recorded = on_recorded

    @property
    def max_active(self) -> int:
        """How many runs may be in progress: as was asked, and as many as the queue lets."""
        queued = self._runs.admission.queue.max_active_of(self._folder.owner)
        return min(self._folder.definition.concurrency, queued)

    def prepare(self, job: TaskRun) -> str:
        """Create a draft with a task's documents; return its id.

        Raises:
            StudioError: if it cannot be created; nothing is left of it.
        """
        run = self._runs.create_draft(self._folder.owner, self._folder.id)
        try:
            with self._runs.locked_workspace(run) as workspace:
                self._setup(job).write_inputs(workspace)
        except BaseException:
            self.discard(run)
            raise
        return run

    def start(self, run: str, job: TaskRun) -> None:
        """Start a prepared run; the earlier run of this repetition becomes independent.

        A run that cannot be started remains a draft; continuing the evaluation replaces it.

        Raises:
            StudioError: if it cannot be started.
            OSError: if it cannot be recorded; the run is deleted then.
        """
        setup, options = self._setup(job), self._participants.members[job.member]
        model = run_options.model_for(setup.text, options, self._settings, self._user)
        limits = replace(
            setup.limits, steps=min(setup.limits.steps, self._settings.max_steps)
        )  # fmt: skip
        earlier = self._cells.entry_at(job.task, job.member, job.repetition)
        if earlier is not None:
            release_run(earlier.run, self._runs, self._catalog)
        try:
            self._cells.add_run(job.task, job.member, job.repetition, run)
        except OSError:
            self.discard(run)
            raise
        task = Task(setup.text, setup.prompt, setup.mode, setup.network)
        try:
            self._runs.start(run, task, model, adapt_to_model(limits, model))
        finally:
            self._on_recorded((job.task, job.member))

    def stop(self, run: str) -> None:
        """Request a run to stop; do nothing if it was deleted."""
        with suppress(StudioError):
            self._runs.stop(run)

    def discard(self, run: str) -> None:
        """Delete a run that has not started."""
        discard_draft(run, self._runs, self._catalog)

    def _setup(self, job: TaskRun) -> RunSetup:
        folder = self._folder
        suite, task = folder.suite_of[job.task], folder.tasks[job.task]
        return set_up(suite, task, folder.definition.members[job.member], self._settings.limits())
