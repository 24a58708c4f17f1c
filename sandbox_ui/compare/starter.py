"""Start one run of a comparison as an ordinary run: same queue, quota and limits."""

from contextlib import suppress
from dataclasses import dataclass

from agent.compare.comparison import Comparison, Member
from agent.errors import StudioError
from agent.models.builtin.install import BUILTIN_ID
from agent.settings import Settings
from sandbox_ui.auth.user import User
from sandbox_ui.compare.inputs import InputStore
from sandbox_ui.compare.registry import ComparisonRegistry
from sandbox_ui.compare.request import Participants
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs import run_options
from sandbox_ui.runs.manager import RunManager


def is_builtin(member: Member) -> bool:
    """Whether the built-in model answers for a member."""
    return member.model == BUILTIN_ID


@dataclass(frozen=True, slots=True)
class Repetition:
    """Repetition ``number`` (from 1) of a member."""

    member: int
    number: int


class RunStarter:
    """Starts the runs of one comparison, and stops and deletes them.

    Args:
        comparison: The comparison's definition.
        participants: The options of its members, with keys.
        user: The user on whose behalf the endpoints are used.
        registry: The comparisons of the data folder.
        runs: The live runs.
        catalog: The catalog of all runs.
        settings: The operator's settings.
    """

    def __init__(
        self,
        comparison: Comparison,
        participants: Participants,
        user: User,
        registry: ComparisonRegistry,
        runs: RunManager,
        catalog: Catalog,
        settings: Settings,
    ) -> None:
        self._comparison = comparison
        self._participants = participants
        self._user = user
        self._registry = registry
        self._runs = runs
        self._catalog = catalog
        self._settings = settings
        self._inputs = InputStore(registry.folder(comparison.id).path)

    @property
    def max_active(self) -> int:
        """How many runs of the comparison the queue lets be in progress at the same time."""
        return self._runs.admission.queue.max_active_of(self._comparison.owner)

    def prepare(self, _repetition: Repetition) -> str:
        """Create a draft with the comparison's inputs; return its id.

        Raises:
            StudioError: if it cannot be created; nothing is left of it.
        """
        comparison = self._comparison
        run = self._runs.create_draft(comparison.owner, comparison.id)
        try:
            with self._runs.locked_workspace(run) as workspace:
                self._inputs.give(workspace, comparison.inputs)
        except BaseException:
            self.discard(run)
            raise
        return run

    def start(self, run: str, repetition: Repetition) -> None:
        """Start a prepared run as a repetition of a member.

        A run that cannot be started remains a draft; continuing the comparison replaces it.

        Raises:
            StudioError: if it cannot be started.
            OSError: if it cannot be recorded; the run is deleted then.
        """
        comparison, member = self._comparison, repetition.member
        options = self._participants.members[member]
        model = run_options.model_for(comparison.task, options, self._settings, self._user)
        task = run_options.task_for(comparison.task, options, model)
        limits = run_options.limits_for(options, self._settings, model)
        self._replace(repetition)
        try:
            self._registry.add_run(comparison.id, member, repetition.number, run)
        except OSError:
            self.discard(run)
            raise
        self._runs.start(run, task, model, limits)

    def stop(self, run: str) -> None:
        """Request a run to stop; do nothing if it was deleted."""
        with suppress(StudioError):
            self._runs.stop(run)

    def discard(self, run: str) -> None:
        """Delete a run that has not started."""
        discard_draft(run, self._runs, self._catalog)

    def _replace(self, repetition: Repetition) -> None:
        """Release this repetition's earlier run."""
        for entry in self._registry.runs(self._comparison.id):
            if (entry.member, entry.repetition) == (repetition.member, repetition.number):
                release_run(entry.run, self._runs, self._catalog)


def release_run(run: str, runs: RunManager, catalog: Catalog) -> None:
    """Make a run independent of its comparison or evaluation; one without a task is deleted."""
    with suppress(StudioError, OSError):
        if runs.has_started(run):
            runs.folder(run).leave_comparison()
            catalog.history.indexer.changed(run)
        else:
            catalog.delete([run])


def discard_draft(run: str, runs: RunManager, catalog: Catalog) -> None:
    """Delete a run that has not started."""
    with suppress(StudioError, OSError):
        if not runs.has_started(run):
            catalog.delete([run])
