"""Runs of an experiment in progress: started in turn, as many at a time as fit."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.errors import QuotaExceeded, StudioError
from agent.experiments.experiment import Member
from agent.experiments.folder import ExperimentFolder, Key
from agent.experiments.runner import is_builtin
from agent.experiments.setup import set_up
from agent.models.passport.ensure import ensure_tested
from agent.settings import Settings
from agent.tasks.setup import write_files
from agent.util.stop import Stop
from sandbox_ui.auth.user import User
from sandbox_ui.experiments.cells import Cells, Place
from sandbox_ui.experiments.inputs import InputStore
from sandbox_ui.experiments.request import Participants
from sandbox_ui.history.catalog import Catalog
from sandbox_ui.runs.manager import RunManager
from sandbox_ui.runs.service import RunService, model_for, prepare

_DISK_FULL_MESSAGE = "The studio's disk is full. Free some space, then press Resume."
_log = logging.getLogger(__name__)


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


class Execution:
    """Carries out planned runs in a thread of its own, until none is left.

    The members' models are tested first, if the starter does so.
    A member whose run cannot be started is given up, and the others go on. When a quota is used
    up, nothing more is started.

    Args:
        name: What is carried out, for the log: ``comparison`` or ``evaluation`` with its id.
        on_changed: Called without arguments when a run was started or has ended.
    """

    def __init__(
        self,
        name: str,
        members: Sequence[Member],
        planned: Iterable[Key],
        starter: RunStarter,
        on_changed: Callable[[], None],
        on_ended: Callable[["Execution"], None],
    ) -> None:
        self._name = name
        self._members = members
        self._pending = deque(planned)
        self._starter = starter
        self._on_changed = on_changed
        self._on_ended = on_ended
        self._active: dict[str, int] = {}
        self._reasons: list[str] = []
        self._stopped_members: set[int] = set()
        self._changed = threading.Condition()
        self._closed = False
        self._tests_stop = Stop()
        self._tested: set[int] = set()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def reason(self) -> str:
        """Why runs could not be started; empty if none failed to start."""
        with self._changed:
            return " ".join(dict.fromkeys(self._reasons))

    @property
    def testing(self) -> list[str]:
        """The labels of the members whose models are being tested."""
        with self._changed:
            return [self._members[each].label for each in sorted(self._tested)]

    def stop(self, member: int | None = None) -> None:
        """Start no further runs, of one member or of all, and stop those in progress."""
        with self._changed:
            members = range(len(self._members)) if member is None else (member,)
            self._stopped_members.update(members)
            self._drop(self._stopped_members)
            active = [run for run, each in self._active.items() if each in self._stopped_members]
            self._changed.notify_all()
        if member is None:
            self._tests_stop.set()
        for run in active:
            self._starter.stop(run)

    def close(self, seconds: float) -> None:
        """Start no further runs; return when none is being started, or after some seconds."""
        with self._changed:
            self._closed = True
            self._pending.clear()
            self._changed.notify_all()
        self._tests_stop.set()
        self._thread.join(seconds)

    def run_ended(self, run: str) -> None:
        """Report the end of a run; runs of others are ignored."""
        with self._changed:
            known = self._active.pop(run, None) is not None
            self._changed.notify_all()
        if known:
            self._on_changed()

    def _work(self) -> None:
        try:
            self._examine_models()
            while (following := self._next()) is not None:
                self._start(following)
        except Exception:  # noqa: BLE001 - boundary: the comparison can be continued
            _log.exception("The %s was interrupted", self._name)
        self._on_ended(self)

    def _examine_models(self) -> None:
        with self._changed:
            members = {member for _, member, _ in self._pending}
        problems = self._starter.examine_models(members, self._tests_stop, self._set_tested)
        for member, problem in problems.items():
            self._give_up((member,), f"{self._members[member].label}: {problem}")
        if self._tested:
            self._set_tested(())

    def _set_tested(self, members: Collection[int]) -> None:
        with self._changed:
            self._tested = {*self._tested, *members} if members else set()
        self._on_changed()

    def _next(self) -> Key | None:
        """Wait until a run may be started and return it; None when all have ended."""
        with self._changed:
            while not self._closed and (self._pending or self._active):
                following = self._startable()
                if following is not None:
                    self._pending.remove(following)
                    return following
                self._changed.wait()
            return None

    def _startable(self) -> Key | None:
        """Return the first planned run that may be started now."""
        if len(self._active) >= self._starter.max_active:
            return None
        members = self._members
        builtin_busy = any(is_builtin(members[each]) for each in self._active.values())
        return next(
            (each for each in self._pending if not (builtin_busy and is_builtin(members[each[1]]))),
            None,
        )

    def _start(self, planned: Key) -> None:
        everyone = range(len(self._members))
        try:
            self._start_run(planned)
        except QuotaExceeded as error:
            self._give_up(everyone, str(error))
        except StudioError as error:
            self._give_up((planned[1],), f"{self._members[planned[1]].label}: {error}")
        except OSError as error:
            _log.warning("A run of the %s cannot be started: %s", self._name, error)
            self._give_up(everyone, _DISK_FULL_MESSAGE)
        self._on_changed()

    def _start_run(self, planned: Key) -> None:
        run, member = self._starter.prepare(planned), planned[1]
        with self._changed:
            admitted = not self._closed and member not in self._stopped_members
            if admitted:
                self._active[run] = member
        if not admitted:
            self._starter.discard(run)
            return
        try:
            self._starter.start(run, planned)
        except BaseException:
            self.run_ended(run)
            raise
        with self._changed:
            stopped = member in self._stopped_members
        if stopped:
            self._starter.stop(run)

    def _give_up(self, members: Iterable[int], reason: str) -> None:
        with self._changed:
            self._reasons.append(reason)
            self._drop(set(members))

    def _drop(self, members: set[int]) -> None:
        self._pending = deque(each for each in self._pending if each[1] not in members)
