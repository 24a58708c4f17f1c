"""Runs of an experiment in progress: started in turn, as many at a time as fit."""

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from agent.errors import QuotaExceeded, StudioError
from agent.experiments.folder import Key
from agent.experiments.schedule import Schedule
from agent.experiments.setup import set_up
from agent.models.base import Model
from agent.settings import Settings
from agent.tasks.setup import write_files
from agent.util.stop import Stop
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.definition import Participants
from sandbox_ui.experiments.live_experiment import LiveExperiment, Place
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunService, model_for, prepare

_DISK_FULL_MESSAGE = "The studio's disk is full. Free some space, then press Resume."
_log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class Execution:
    """Carries out planned runs of an experiment in a thread of its own, until none is left."""

    live: LiveExperiment
    planned: Sequence[Key]
    participants: Participants
    user: User
    runs: RunManager
    catalog: Catalog
    settings: Settings
    on_recorded: Callable[[Place], None]
    on_ended: Callable[["Execution"], None]
    _keys: dict[str, Key] = field(default_factory=dict)
    _tests_stop: Stop = field(default_factory=Stop)
    _tested: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.folder = self.live.folder
        self._name = f"{self.folder.kind} {self.folder.id}"
        self._members = self.folder.definition.members
        self._schedule = Schedule(self._members, self.planned, self._max_active, Stop())
        self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def reason(self) -> str:
        """Why runs could not be started; empty if none failed to start."""
        problems = dict(self._schedule.problems).items()
        reasons = [f"{self._members[member].label}: {reason}" for member, reason in problems]
        return " ".join(filter(None, [*reasons, self._schedule.problem]))

    @property
    def testing(self) -> list[str]:
        """The labels of the members whose models are being tested."""
        return [self._members[each].label for each in sorted(self._tested)]

    def stop(self, member: int | None = None) -> None:
        """Start no further runs, of one member or of all, and stop those in progress."""
        if member is None:
            self._tests_stop.set()
        self._schedule.stop(member)

    def close(self, seconds: float) -> None:
        """Start no further runs; return when none is being started, or after some seconds."""
        self._schedule.close()
        self._tests_stop.set()
        self._thread.join(seconds)

    def run_ended(self, run: str) -> None:
        """Report the end of a run; runs of others are ignored."""
        key = self._keys.pop(run, None)
        if key is not None:
            self._schedule.ended(key)
            self.live.notify()

    def scored(self, run: str) -> None:
        """Report that a run's score was stored: a judge that cannot be read stops everything."""
        entry = self.live.folder.score(run)
        self._schedule.graded(entry.grade if entry else None)

    def _max_active(self) -> int:
        """Return how many runs may be in progress: as the queue lets, and an evaluation asks."""
        allowed = self.runs.admission.queue.max_active_of(self.folder.owner)
        definition = self.folder.definition
        return min(definition.concurrency, allowed) if definition.suites else allowed

    def _work(self) -> None:
        try:
            if self.folder.definition.suites:  # a comparison's few runs show the same themselves
                self._test_models()
            for key in self._schedule:
                self._start(key)
        except Exception:  # noqa: BLE001 - boundary: the comparison can be continued
            _log.exception("The %s was interrupted", self._name)
        self.on_ended(self)

    def _test_models(self) -> None:
        """Test the models of members before their first run."""

        def on_test(members: Collection[int]) -> None:
            self._tested.update(members)
            self.live.notify()

        self._schedule.test_models(self._model_of, self._tests_stop, on_test)
        if self._tested:
            self._tested.clear()
            self.live.notify()

    def _model_of(self, member: int) -> Model:
        request = self.participants.requests[member].for_task(self.folder.tasks[0].text)
        return model_for(request, self.settings, self.user)

    def _start(self, key: Key) -> None:
        try:
            self._start_run(key)
        except (StudioError, OSError) as error:
            if isinstance(error, QuotaExceeded):
                self._schedule.give_up(str(error))
            elif isinstance(error, StudioError):
                self._schedule.give_up(str(error), key[1])
            else:
                _log.warning("A run of the %s cannot be started: %s", self._name, error)
                self._schedule.give_up(_DISK_FULL_MESSAGE)
            self._schedule.ended(key)
        self.live.notify()

    def _start_run(self, key: Key) -> None:
        """Start a run; one that cannot be started stays a draft, which is replaced on resuming."""
        run = self._create_draft(key)
        if self._schedule.is_stopped(key):
            self.catalog.discard_draft(run)
            self._schedule.ended(key)
            return
        request = self.participants.requests[key[1]]
        spec = set_up(self.folder, key, request.spec, self.settings)
        prepared = prepare(replace(request, spec=spec), self.settings, self.user)
        self._record(run, key)
        self._keys[run] = key
        try:
            RunService(self.runs, self.settings).begin(run, prepared)
        except BaseException:
            self._keys.pop(run, None)
            raise
        finally:
            self.on_recorded((key[0], key[1]))
        self._schedule.started(key, partial(self._stop_run, run))

    def _create_draft(self, key: Key) -> str:
        """Create a draft with the run's inputs; return its id."""
        task = self.folder.tasks[key[0]]
        with (
            self.catalog.new_draft(self.folder.owner, self.folder.id) as run,
            self.runs.locked_workspace(run) as workspace,
        ):
            write_files(task.id, task.inputs, workspace)
        return run

    def _record(self, run: str, key: Key) -> None:
        """Record a run; the earlier run of this repetition becomes independent."""
        earlier = self.folder.run_at(key)
        if earlier is not None:
            self.catalog.release(earlier.run)
        try:
            self.live.add_run(*key, run)
        except OSError:
            self.catalog.discard_draft(run)
            raise

    def _stop_run(self, run: str) -> None:
        with suppress(StudioError):  # it was deleted
            self.runs.stop(run)
